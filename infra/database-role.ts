import { functionName } from "../lib/contract/declare.ts";
import { endpoints } from "../lib/contract/endpoints.ts";

/** The role as which a function logs in to PostgreSQL (lib/database/roles.ts). */
export type DatabaseRole = "public" | "admin" | "master";

const publicFunctions = new Set(endpoints.filter(({ permission }) => !permission).map(functionName));
/** The functions that create tables and roles. */
const masters = new Set(["ops-migrate", "migrate-on-deploy", "ops-rotate-password"]);

/** The role with the fewest rights that is enough for a function. */
export function databaseRoleOf(name: string): DatabaseRole {
  if (masters.has(name)) return "master";
  return publicFunctions.has(name) ? "public" : "admin";
}
