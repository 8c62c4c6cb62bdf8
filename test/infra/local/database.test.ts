import { expect, it } from "vitest";
import { isLoopback } from "../../../infra/local/database.ts";

it.each([
  ["postgres://user:password@localhost:5432/catalogue", true],
  ["postgres://user@127.0.0.1/catalogue", true],
  ["postgres://user@[::1]:5432/catalogue", true],
  ["postgres://user@db.example.com/localhost", false],
  ["postgres://localhost@10.0.0.5/catalogue", false],
  ["postgres://user@localhost.example.com/catalogue", false],
  ["postgres://user@127.0.0.1.example.com/catalogue", false],
  ["postgres:///catalogue", false],
])("An external server is known to be on this machine or not: %s", (databaseUrl, expected) => {
  expect(isLoopback(databaseUrl)).toBe(expected);
});
