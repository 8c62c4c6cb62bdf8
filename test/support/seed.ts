import fc from "fast-check";

/**
 * Random tests begin with the same numbers on each run, so that a failure belongs to a change. `COLOPHON_SEED=7` for
 * others.
 */
export const seed = Number(process.env.COLOPHON_SEED ?? 2_026);

fc.configureGlobal({ seed });

/** Numbers from 0 to 1, the same ones for the same seed. */
export function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
