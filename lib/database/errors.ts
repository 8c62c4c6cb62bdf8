/** Why PostgreSQL refused a statement, as its SQLSTATE: the end of the message (RDS Data API, DatabaseErrorException). */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "DatabaseErrorException") return undefined;
  return /SQLState: ([0-9A-Z]{5})$/.exec(error.message)?.[1];
}

/** The cluster did not answer in time, asleep or out of reach: the client should come again later. */
export class DatabaseUnavailable extends Error {
  override readonly name = "DatabaseUnavailable";
}
