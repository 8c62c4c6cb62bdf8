/** How often a race is run, since one may be won by luck; `COLOPHON_RACE_ROUNDS=10 npm test -- test/functions/races`. */
export const rounds = Number(process.env.COLOPHON_RACE_ROUNDS ?? 2);
