import { loadModule } from "libpg-query";
import { beforeAll, expect, it } from "vitest";
import { problemsOf } from "../../../infra/check/sql.ts";

beforeAll(() => loadModule());

const functionWith = (statement: string) =>
  `create function f() returns void language plpgsql as $$\n  begin\n    ${statement}\n  end\n$$;\n`;

it.each([
  ["a statement that is none", "selct 1;\n", /syntax error at or near "selct"/],
  ["a PL/pgSQL function that is none", functionWith("if true loop end if;"), /missing "THEN"/],
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
