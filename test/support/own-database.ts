import { randomUUID } from "node:crypto";
import { inject } from "vitest";
import { defaultName as owner } from "../../infra/local/database.ts";
import { identifier, openDatabase } from "./database.ts";

/**
 * Creates a database on the tests' server as a copy of a template: `blank` is migrated and has two clients, `demo` also
 * has the demo data. It goes with the server: ext4 creates files slowly for minutes after others were deleted.
 * @returns its name
 */
export async function createDatabase(template: "blank" | "demo" | "template1"): Promise<string> {
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  const admin = openDatabase(`${inject("databaseUrl")}/postgres`, { max: 1 });
  await admin`create database ${identifier(name)} template ${identifier(template)} owner ${identifier(owner)}`;
  await admin.end();
  return name;
}
