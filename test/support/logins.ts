import { inject } from "vitest";
import type { DatabaseRole } from "../../infra/build/database-role.ts";
import { secretArns } from "../../infra/local/stage/secrets.ts";
import { openDatabase, type Sql } from "./database.ts";

/**
 * A connection to a test's database with a role's own password, as an attacker who knows the password has it.
 * @param settings of the connection; they would not leave those of the role as they are
 */
export function logIn(
  role: DatabaseRole,
  settings: Readonly<Record<string, string>> = { default_transaction_read_only: "off" },
): Sql {
  const credentials = inject("secrets")[secretArns[role]];
  const url = new URL(`${inject("databaseUrl")}/${process.env.DATABASE_NAME}`);
  return openDatabase(Object.assign(url, credentials).href, { max: 1, settings });
}

/** PostgreSQL's word on a statement: whether the role may, whatever else is wrong. */
export async function attempt(sql: Sql, statement: string): Promise<"may" | "may not"> {
  const error: unknown = await sql.query(statement).catch((error) => error);
  return error instanceof Error && "code" in error && error.code === "42501" ? "may not" : "may";
}
