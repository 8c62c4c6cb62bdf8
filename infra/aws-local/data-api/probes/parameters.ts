import {
  blob,
  bound,
  bySource,
  column,
  databaseError,
  done,
  double,
  invalid,
  probe,
  refused,
  row,
  updated,
  type Value,
} from "./probe.ts";
import * as source from "./sources.ts";

const typed = (name: string, p: Value, type: string) => bound(name, "select pg_typeof(:p)::text", { p }, row(type));

const back = (name: string, p: Value) => bound(name, "select :p", { p }, row(p));

const nameInvalid = invalid("Named parameter syntax is invalid");
const noOperator = refused(
  "42883",
  "operator does not exist: integer = text; Hint: No operator matches the given name and argument types. You might need to add explicit type casts.; Position: 38",
);
const nul = databaseError(/^ERROR: invalid byte sequence for encoding "UTF8": 0x00/);
const supplies = databaseError(
  /bind message supplies 0 parameters, but prepared statement.* requires 1; SQLState: 08P01$/,
);

export const parameters = bySource({
  [source.clientTests]: [
    bound("a name before a cast", "select :v::jsonb->>'a'", { v: '{"a":1}' }, row("1")),
    bound("a name twice", "select :p || :p", { p: "day" }, row("dayday")),
    typed("booleanValue is boolean", false, "boolean"),
    typed("blobValue is bytea", blob("AAH+/w=="), "bytea"),
    back("a blob", blob("AAH+/w==")),
    back("a double", double(0.123456789)),
    bound("an empty text is no NULL", "select :p is null", { p: "" }, row(false)),
    bound("a double as numeric", "select :p::numeric(12, 6)", { p: double(9.123456) }, row("9.123456")),
    bound("a long for an int4 column", "insert into probed.numbers values (:p)", { p: 2 }, updated(1)),
    bound("a boolean in where", "select 1 where :p", { p: true }, row(1)),
    bound("NULL for a column", "insert into probed.numbers values (:p) returning n", { p: null }, row(null)),
  ],
  [source.proxySql]: [
    bound("a name in CAST", "select cast(:v as date)", { v: "2026-11-21" }, row("2026-11-21")),
    bound(
      "a name twice is no equal expression",
      "select date_trunc(:u, t) from (values (now())) as v (t) group by date_trunc(:u, t)",
      { u: "day" },
      refused("42803"),
    ),
    bound("longs for limit and offset", "select 1 limit :p offset :p - 1", { p: 1 }, column(1)),
    typed("stringValue is text", "x", "text"),
  ],
  [source.proxyNotes]: [
    probe("a name in a string, an identifier, comments", "select ':a' as \":b\" /* :c */ -- :d", row(":a")),
    bound("a name after a comma", "select 1,:p", { p: 2 }, row(1, 2)),
    bound("a name in parentheses", "select (:p)", { p: 2 }, row(2)),
    bound("a name in a dollar-quoted text", "select $$a :b c$$", { b: "x" }, row("a $1 c")),
    probe(
      "the end of an array's slice",
      "select (array[1,2])[1:2]",
      refused("42601", 'syntax error at or near "$1"; Position: 22'),
    ),
    bound("NULL by a cast", "select :p::int is null", { p: null }, row(true)),
  ],
  [source.drizzle(3273)]: [
    bound("a number for a name", "select :1::int4+1", { "1": 2 }, row(3)),
    probe("a name without a value", "select :x::text", supplies),
  ],
  [source.drizzleIntrospection]: [probe("a parameter of PostgreSQL's", "select $1::text", supplies)],
  [source.dylanFindings]: [
    bound("underscores and digits in a name", "select :a_b_1", { a_b_1: 1 }, row(1)),
    probe("other characters in a name", "select :naïve", nameInvalid),
    probe("another character first in a name", "select :é", nameInvalid),
    bound("other characters in the name of a value", "select 1", { "a-b": 1 }, nameInvalid),
  ],
  [source.dylanSkips]: [
    typed("longValue is bigint", 1, "bigint"),
    bound("a long is no int4", "select 1::int4 << :p", { p: 1 }, refused("42883")),
    bound("a long by a cast", "select 1::int4 << :p::int4", { p: 1 }, row(2)),
  ],
  [source.proxyErrors]: [
    bound("a text is no integer", "select 1 from probed.numbers where n = :p", { p: "1" }, noOperator),
  ],
  [source.drizzle(2232)]: [
    bound(
      "a text for a timestamp column",
      "insert into probed.moments values (:p)",
      { p: "2026-01-01 00:00:00" },
      refused(
        "42804",
        'column "at" is of type timestamp without time zone but expression is of type text; Hint: You will need to rewrite or cast the expression.; Position: 36',
      ),
    ),
  ],
  [source.clientReadme]: [
    bound(
      "an array",
      "select :p",
      { p: { arrayValue: { longValues: [1, 2] } } },
      invalid("Array parameters are not supported"),
    ),
    bound("any of a literal", "select 2 = any(:p::int[])", { p: "{1,2}" }, row(true)),
  ],
  [source.operations]: [back("a text", "ü 'quoted' \"x\" \\ 😀"), back("a negative long", -9007199254740991)],
  [source.postgres]: [
    bound("NULL where no type is known", "select pg_typeof(:p)::text", { p: null }, refused("42P18")),
    bound(
      "a long too great for an int4 column",
      "insert into probed.numbers values (:p)",
      { p: 3000000000 },
      refused("22003", "integer out of range"),
    ),
    bound("a NUL character in a text", "select :p", { p: "a\0b" }, nul),
    probe("a NUL character in a statement", "select 'a\0b'", nul),
  ],
  [source.unproved]: [
    typed("doubleValue is float8", double(0.5), "double precision"),
    bound("a value without a name", "select 1", { x: 1 }, row(1)),
    probe(":= is left alone", "do 'declare n int; begin n := 1; end'", done),
    probe(":= in a dollar-quoted text", "do $$ declare n int; begin n := 1; end $$", done),
  ],
});
