import { DatabaseError } from "pg";
import { ServiceError, validation } from "../http/service-error.ts";

export const unsupportedResult = (message: string) => new ServiceError(400, "UnsupportedResultException", message);

export const databaseError = (message: string) => new ServiceError(400, "DatabaseErrorException", message);

/** A 500 without a message, which the service returns when its own conversion fails. It is not in the API model. */
export const internalFailure = () => new ServiceError(500, "InternalFailure");

/** The 500, 503 and 504 shapes have no message member (AWS, RDS Data API model). */
const databaseUnavailable = () => new ServiceError(504, "DatabaseUnavailableException");

export const transactionNotFound = (id: string) =>
  new ServiceError(404, "TransactionNotFoundException", `Transaction ${id} is not found`);

/** `dbConnectionId` is the session that may still be running the statement (AWS, RDS Data API model). */
export const statementTimeout = (processId: number) =>
  new ServiceError(400, "StatementTimeoutException", "The execution of the SQL statement timed out.", {
    dbConnectionId: processId,
  });

/**
 * Translates what PostgreSQL or the connection to it threw.
 *
 * The message is `ERROR: <message>; [Hint: ...;] [Where: ...;] [Position: N;] SQLState: XXXXX`. Every message seen from
 * the live service came without Detail, so none is sent: nothing may depend on it.
 */
export function translate(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (!(error instanceof DatabaseError)) return isConnectionError(error) ? databaseUnavailable() : internalFailure();
  // 57P03: the server starts or stops; 28P01, 28000: the secret's user or password is wrong. A session that is ended
  // (57P01, 57P02) and one too many (53300) are errors of the database like others.
  if (error.code === "57P03") return databaseUnavailable();
  if (error.code === "28P01" || error.code === "28000")
    return new ServiceError(400, "InvalidSecretException", error.message);
  if (error.message === "cannot insert multiple commands into a prepared statement")
    return validation("Multistatements aren't supported.");
  return databaseError(textOf(error));
}

/** An error of the socket, which always has a code, or of node-postgres when the socket closed during a statement. */
function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return "code" in error || /^(Connection terminated|Client has encountered|Client was closed)/.test(error.message);
}

export const sqlState = (error: unknown) => (error instanceof DatabaseError ? error.code : undefined);

function textOf({ severity, message, hint, where, position, code }: DatabaseError): string {
  return [
    `${severity}: ${message}`,
    hint && `Hint: ${hint}`,
    where && `Where: ${where}`,
    position && `Position: ${position}`,
    `SQLState: ${code}`,
  ]
    .filter(Boolean)
    .join("; ");
}
