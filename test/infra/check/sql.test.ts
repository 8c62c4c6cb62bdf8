import { expect, it } from "vitest";
import { problemsOf } from "../../../infra/check/sql.ts";

const functionWith = (statement: string) =>
  `create function f() returns void language plpgsql as $$\n  begin\n    ${statement}\n  end\n$$;\n`;

it.each([
  ["a keyword in capitals", "select 1\nFROM users;\n", /:2: a keyword in capitals/],
  ["white space at the end of a line", "select 1; \n", /:1: white space/],
  ["an odd indentation", "select\n   1;\n", /:2: no indentation/],
  ["a long line", `select ${"1 + ".repeat(30)}1;\n`, /:1: more than 120/],
])("The check finds %s", (_, text, expected) => {
  expect(problemsOf("lib/changes/f.sql", text).join("\n")).toMatch(expected);
});

it("The check finds nothing in a function as it should be", () => {
  expect(problemsOf("lib/changes/f.sql", functionWith("perform 1; -- NOT here"))).toEqual([]);
});

const migration = "lib/migrations/tables/9999-index.sql";

it.each([
  "create index concurrently if not exists users_slug on users (slug);",
  "create unique index concurrently if not exists users_slug on users (slug)\n  where slug <> '';",
  "drop index concurrently if exists users_slug;",
  "alter table users\n  validate constraint users_slug_check;",
])("The check lets a slow migration be one statement that can be repeated: %s", (statement) => {
  expect(problemsOf(migration, `-- slow\n-- Why.\n${statement}\n`)).toEqual([]);
});

const slow = "-- slow\n";
const dropping = "drop index concurrently if exists a;\n";

it.each([
  ["cannot be repeated", `${slow}create index concurrently users_slug on users (slug);\n`, /one statement of/],
  ["has no name", `${slow}create index concurrently on users (slug);\n`, /one statement of/],
  ["locks the table", `${slow}create index if not exists users_slug on users (slug);\n`, /one statement of/],
  ["is another one", `${slow}update users set slug = slug;\n`, /one statement of/],
  ["has a second statement", `${slow}${dropping}\n${dropping}`, /one statement/],
  ["has no statement", slow, /one statement/],
  ["has another mark", `-- slow: 2 hours\n${dropping}`, /"concurrently" without/],
  ["is not marked", dropping, /"concurrently" without/],
  ["is marked elsewhere", `-- Why.\n${slow}select 1;\n`, /is not the first line/],
])("The check refuses a slow migration that %s", (_, text, expected) => {
  expect(problemsOf(migration, text).join("\n")).toMatch(expected);
});
