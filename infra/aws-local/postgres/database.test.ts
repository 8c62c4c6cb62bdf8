import { expect, it } from "vitest";
import { splitUrl } from "./database.ts";

it.each([
  ["postgres://user:password@localhost:5432/catalogue", "postgres://user:password@localhost:5432", "catalogue"],
  ["postgres://db:pw@db/colophon", "postgres://db:pw@db", "colophon"],
  ["postgres://user:p%40ss@db/two%20words?sslmode=disable", "postgres://user:p%40ss@db", "two words"],
  ["postgres://user@db", "postgres://user@db", "postgres"],
])("tells a server from its database: %s", (url, serverUrl, name) => {
  expect(splitUrl(url)).toEqual({ serverUrl, name });
});
