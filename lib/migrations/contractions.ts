/** A migration that takes away what earlier releases use (lib/migrations/README.md, "How migrations are written"). */
export interface Contraction {
  /** Its number in `tables/`. */
  readonly migration: number;
  /** The code of a release that was made for an earlier migration than this does not work any more. */
  readonly worksSince: number;
}

/** No stage goes back behind these (`npm run rollback`). */
export const contractions: readonly Contraction[] = [];
