import fc from "fast-check";

/**
 * Random tests begin with the same numbers on each run, so that a failure belongs to a change. `COLOPHON_SEED=7` for
 * others.
 */
export const seed = Number(process.env.COLOPHON_SEED ?? 2_026);

fc.configureGlobal({ seed });
