/** How often each race runs. More rounds: `COLOPHON_RACE_ROUNDS=10 npm test -- test/functions/races`. */
export const rounds = Number(process.env.COLOPHON_RACE_ROUNDS ?? 2);
