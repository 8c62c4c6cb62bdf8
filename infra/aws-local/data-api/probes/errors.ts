import { begin, bySource, databaseError, done, invalid, probe, refused, row, scenario } from "./probe.ts";
import * as source from "./sources.ts";

const fails = (sql: string, state: string, message?: string) => probe(sql, sql, refused(state, message));

const violation = (name: string, message: string, extra: object) =>
  probe(name, "select 1", invalid(`1 validation error detected: Value ${message}`), extra);
const length = (member: string, given: string, bound: string) =>
  violation(
    `${member} of ${given.length} characters`,
    `at '${member}' failed to satisfy constraint: Member must have length ${bound}`,
    { [member]: given },
  );
const missing = (member: string) =>
  violation(`no ${member}`, `null at '${member}' failed to satisfy constraint: Member must not be null`, {
    [member]: null,
  });

const one = (name: string, sql: string) => probe(`one statement with ${name}`, sql, row(1));
const two = (name: string, sql: string) =>
  probe(`two statements with ${name}`, sql, invalid("Multistatements aren't supported."));
const noSchema = invalid("The schema parameter isn't supported");

const unexpected = (what: string) => databaseError(`execute: unexpected message: ${what}`);
const violates = "violates foreign key constraint";
const noFunction =
  "function nope() does not exist; Hint: No function matches the given name and argument types. You might need to add explicit type casts.; Position: 8";
const inBlock = 'Where: SQL statement "SELECT 1/0"\nPL/pgSQL function inline_code_block line 1 at PERFORM';
const raised = "Where: PL/pgSQL function probed.raises() line 1 at RAISE";

export const errors = bySource({
  [source.proxyErrors]: [
    fails("select 1 from no_such_table", "42P01", 'relation "no_such_table" does not exist; Position: 15'),
    fails(
      "insert into probed.shelf values (2, null)",
      "23502",
      'null value in column "name" of relation "shelf" violates not-null constraint',
    ),
  ],
  [source.pythonClient]: [
    fails(
      "insert into probed.book values (9, 1)",
      "23503",
      `insert or update on table "book" ${violates} "book_shelf_fkey"`,
    ),
    fails(
      "delete from probed.shelf",
      "23503",
      `update or delete on table "shelf" ${violates} "book_shelf_fkey" on table "book"`,
    ),
  ],
  [source.blocks]: [
    fails(
      "insert into probed.shelf values (1, 'b')",
      "23505",
      'duplicate key value violates unique constraint "shelf_pkey"',
    ),
  ],
  [source.proxyNotes]: [
    probe("copy to", "copy probed.shelf to stdout", unexpected("CopyOutResponse")),
    probe("copy from", "copy probed.shelf from stdin", unexpected("CopyInResponse")),
  ],
  [source.postgres]: [
    fails("select 'äöü😀', nope", "42703", 'column "nope" does not exist; Position: 16'),
    fails(
      "insert into probed.book values (1, 0)",
      "23514",
      'new row for relation "book" violates check constraint "book_price_check"',
    ),
    fails("do 'begin perform 1/0; end'", "22012", `division by zero; ${inBlock}`),
    fails("select probed.raises()", "P0001", `custom; Hint: a hint; ${raised}`),
    fails("select 1/0", "22012", "division by zero"),
    fails("selec 1", "42601", 'syntax error at or near "selec"; Position: 1'),
    fails("select 'x'::int", "22P02", 'invalid input syntax for type integer: "x"; Position: 8'),
    fails("select nope()", "42883", noFunction),
    fails("create table probed.shelf ()", "42P07", 'relation "shelf" already exists'),
    fails("drop table probed.nope", "42P01", 'table "nope" does not exist'),
    fails("vacuum (nope)", "42601"),
    fails("select array[1, 'a'::text]", "42804"),
    fails("select id, count(*) from probed.plain", "42803"),
    fails("update probed.typed set id = 'a'", "22P02"),
    fails("set work_mem = 'much'", "22023"),
  ],
  [source.differences]: [
    probe("the schema parameter", "select 1", noSchema, { schema: "public" }),
    scenario("the schema parameter of BeginTransaction", begin(noSchema, "t", { schema: "public" })),
    two("nothing else", "select 1; select 2"),
  ],
  [source.model]: [
    length("resourceArn", "arn:short", "greater than or equal to 11"),
    length("resourceArn", "a".repeat(571), "less than or equal to 570"),
    length("secretArn", "arn:short", "greater than or equal to 11"),
    length("secretArn", "a".repeat(571), "less than or equal to 570"),
    length("database", "d".repeat(65), "less than or equal to 64"),
    length("transactionId", "t".repeat(193), "less than or equal to 192"),
    missing("resourceArn"),
    missing("secretArn"),
    missing("sql"),
  ],
  [source.troubleshooting]: [
    probe("a transaction that never was", "select 1", { status: 404 }, { transactionId: "nobody" }),
  ],
  [source.operations]: [
    one("a semicolon at the end", "select 1;"),
    one("a semicolon and a space at the end", "select 1; "),
  ],
  [source.unproved]: [
    one("comments after it", "select 1; -- done; really\n /* and; /* done; */ */ ;"),
    probe("no statement", "", done),
    probe("a comment only", "-- nothing", done),
    probe("an unknown database", "select 1", databaseError(/"nope" does not exist.*3D000$/), { database: "nope" }),
  ],
});
