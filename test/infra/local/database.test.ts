import { describe, expect, it } from "vitest";
import { externalServer, isLoopback } from "../../../infra/local/database.ts";

describe("An external server", () => {
  it.each([
    ["postgres://user:password@localhost:5432/catalogue", "postgres://user:password@localhost:5432", "catalogue"],
    ["postgres://db:pw@db/colophon", "postgres://db:pw@db", "colophon"],
    ["postgres://user:p%40ss@db/two%20words?sslmode=disable", "postgres://user:p%40ss@db", "two words"],
    ["postgres://user@db", "postgres://user@db", "colophon"],
  ])("is told from its database: %s", (given, url, name) => {
    expect(externalServer(given)).toEqual({ url, name });
  });

  it.each([
    ["postgres://user:password@localhost:5432/catalogue", true],
    ["postgres://user@127.0.0.1/catalogue", true],
    ["postgres://user@[::1]:5432/catalogue", true],
    ["postgres://user@db.example.com/localhost", false],
    ["postgres://localhost@10.0.0.5/catalogue", false],
    ["postgres://user@localhost.example.com/catalogue", false],
    ["postgres://user@127.0.0.1.example.com/catalogue", false],
    ["postgres:///catalogue", false],
  ])("is known to be on this machine or not: %s", (databaseUrl, expected) => {
    expect(isLoopback(databaseUrl)).toBe(expected);
  });
});
