const databaseErrors = new Set(["DatabaseErrorException", "BadRequestException"]);

/** The SQLSTATE of PostgreSQL's error: the end of the message (RDS Data API, DatabaseErrorException). */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !databaseErrors.has(error.name)) return undefined;
  return /SQLState: ([0-9A-Z]{5})$/.exec(error.message)?.[1];
}

/** Whether PostgreSQL refused the user or the password of a secret. */
export const isLoginRefused = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === "InvalidSecretException" ||
    sqlStateOf(error)?.startsWith("28") === true ||
    error.message.includes("password authentication failed"));
