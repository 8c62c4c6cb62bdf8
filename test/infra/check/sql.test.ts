import { expect, it } from "vitest";
import { problemsOf } from "../../../infra/check/sql.ts";

const functionWith = (statement: string) =>
  `create function f() returns void language plpgsql as $$\n  begin\n    ${statement}\n  end\n$$;\n`;

it.each([
  { what: "a keyword in capitals", text: "select 1\nFROM users;\n", expected: /:2: a keyword in capitals/ },
  { what: "white space at the end of a line", text: "select 1; \n", expected: /:1: white space/ },
  { what: "an odd indentation", text: "select\n   1;\n", expected: /:2: no indentation/ },
  { what: "a long line", text: `select ${"1 + ".repeat(30)}1;\n`, expected: /:1: more than 120/ },
])("The check finds $what", ({ text, expected }) => {
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
  {
    what: "cannot be repeated",
    text: `${slow}create index concurrently users_slug on users (slug);\n`,
    expected: /one statement of/,
  },
  { what: "has no name", text: `${slow}create index concurrently on users (slug);\n`, expected: /one statement of/ },
  {
    what: "locks the table",
    text: `${slow}create index if not exists users_slug on users (slug);\n`,
    expected: /one statement of/,
  },
  { what: "is another one", text: `${slow}update users set slug = slug;\n`, expected: /one statement of/ },
  { what: "has a second statement", text: `${slow}${dropping}\n${dropping}`, expected: /one statement/ },
  { what: "has no statement", text: slow, expected: /one statement/ },
  { what: "has another mark", text: `-- slow: 2 hours\n${dropping}`, expected: /"concurrently" without/ },
  { what: "is not marked", text: dropping, expected: /"concurrently" without/ },
  { what: "is marked elsewhere", text: `-- Why.\n${slow}select 1;\n`, expected: /is not the first line/ },
])("The check refuses a slow migration that $what", ({ text, expected }) => {
  expect(problemsOf(migration, text).join("\n")).toMatch(expected);
});
