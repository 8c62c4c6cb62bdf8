import { randomUUID } from "node:crypto";
import { inject } from "vitest";
import { defaultName as owner } from "../../infra/local/database.ts";
import { identifier, openDatabase } from "./database.ts";

/**
 * Creates a database on the tests' server as a copy of a template: `blank` is migrated and has two clients, `demo` also
 * has the demo data.
 */
export async function createDatabase(template: "blank" | "demo" | "template1") {
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  const admin = openDatabase(`${inject("databaseUrl")}/postgres`, { max: 1 });
  await admin`create database ${identifier(name)} template ${identifier(template)} owner ${identifier(owner)}`;
  return {
    name,
    async remove() {
      await admin`drop database ${identifier(name)} with (force)`;
      await admin.end();
    },
  };
}
