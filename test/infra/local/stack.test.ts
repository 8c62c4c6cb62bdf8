import { describe, expect, it } from "vitest";
import { foreignServer } from "../../../infra/local/stack.ts";

describe("A server that somebody else runs", () => {
  it.each([
    ["postgres://user:password@localhost:5432/catalogue", "postgres://user:password@localhost:5432", "catalogue"],
    ["postgres://db:pw@db/colophon", "postgres://db:pw@db", "colophon"],
    ["postgres://user:p%40ss@db/two%20words?sslmode=disable", "postgres://user:p%40ss@db", "two words"],
    ["postgres://user@db", "postgres://user@db", "colophon"],
  ])("is told from its database: %s", (given, url, database) => {
    expect(foreignServer(given)).toMatchObject({ url, database });
  });
});
