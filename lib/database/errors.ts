const databaseErrors = new Set(["DatabaseErrorException", "BadRequestException"]);

/** The SQLSTATE of PostgreSQL's error: the end of the message (RDS Data API, DatabaseErrorException). */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !databaseErrors.has(error.name)) return undefined;
  return /SQLState: ([0-9A-Z]{5})$/.exec(error.message)?.[1];
}
