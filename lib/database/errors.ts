/** What the database refused: SQLSTATE and, where a constraint decided, its name. */
export interface Refusal {
  readonly state: string;
  readonly constraint: string | undefined;
}

/**
 * Reads a refusal out of an error of the Data API. Only the trailing SQLSTATE and the constraint's name are certain
 * to be in the message; Detail is usually absent (RDS Data API, DatabaseErrorException).
 */
export function refusal(error: unknown): Refusal | undefined {
  if (!(error instanceof Error) || error.name !== "DatabaseErrorException") return undefined;
  const state = /SQLState: ([0-9A-Z]{5})$/.exec(error.message)?.[1];
  return state === undefined ? undefined : { state, constraint: /constraint "([^"]+)"/.exec(error.message)?.[1] };
}

/** The cluster did not answer in time, asleep or out of reach: the client should come again later. */
export class DatabaseUnavailable extends Error {
  override readonly name = "DatabaseUnavailable";
}
