import { type Declaration, functionName, isNavigation, isPublic } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";

/** The roles as which functions log in to PostgreSQL, without `colophon_` (lib/migrations/roles.sql). */
export const limitedRoles = ["public", "reader", "editor", "operator", "signer"] as const;
export type LimitedRole = (typeof limitedRoles)[number];

export const forEachRole = <Value>(make: (role: LimitedRole) => Value) =>
  Object.fromEntries(limitedRoles.map((role) => [role, make(role)])) as Readonly<Record<LimitedRole, Value>>;

/** The master owns the database; it is the only one who can create tables and roles. */
export type DatabaseRole = LimitedRole | "master";

/** The functions that create tables and roles. */
const masters = new Set(["ops-migrate", "ops-migrate-on-deploy", "ops-rotate-password"]);

/** Opens sessions for people whom a provider has identified, and does nothing else. */
const signer = "sign-in-callback";

const roles = new Map(endpoints.map((each) => [functionName(each), roleOf(each)]));

function roleOf(declaration: Declaration): LimitedRole {
  // To begin to sign in needs no database.
  if (isPublic(declaration) || isNavigation(declaration)) return "public";
  return declaration.method === "GET" ? "reader" : "editor";
}

/** The role with the fewest rights that is enough for a function. What is no endpoint is an operators' function. */
export function databaseRoleOf(name: string): DatabaseRole {
  if (masters.has(name)) return "master";
  return name === signer ? "signer" : (roles.get(name) ?? "operator");
}

/** The environment variables of a migration, which sets the passwords of the roles: the ARNs of their secrets. */
export const secretVariables = (arns: Readonly<Record<LimitedRole, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(limitedRoles.map((role) => [`DATABASE_${role.toUpperCase()}_SECRET_ARN`, arns[role]]));
