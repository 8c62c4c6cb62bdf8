import {
  blob,
  bound,
  bySource,
  column,
  databaseError,
  done,
  double,
  flag,
  invalid,
  long,
  nothing,
  type Parameters,
  probe,
  refused,
  row,
  text,
  updated,
} from "./probe.ts";
import * as source from "./sources.ts";

const typed = (name: string, p: Parameters[string], type: string) =>
  bound(name, "select pg_typeof(:p)::text", { p }, row(text(type)));

const back = (name: string, p: object) => bound(name, "select :p", { p }, row(p));

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
    bound("a name before a cast", "select :v::jsonb->>'a'", { v: text('{"a":1}') }, row(text("1"))),
    bound("a name twice", "select :p || :p", { p: text("day") }, row(text("dayday"))),
    typed("booleanValue is boolean", flag(false), "boolean"),
    typed("blobValue is bytea", blob("AAH+/w=="), "bytea"),
    back("a blob", blob("AAH+/w==")),
    back("a double", double(0.123456789)),
    bound("an empty text is no NULL", "select :p is null", { p: text("") }, row(flag(false))),
    bound("a double as numeric", "select :p::numeric(12, 6)", { p: double(9.123456) }, row(text("9.123456"))),
    bound("a long for an int4 column", "insert into probed.numbers values (:p)", { p: long(2) }, updated(1)),
    bound("a boolean in where", "select 1 where :p", { p: flag(true) }, row(long(1))),
    bound("NULL for a column", "insert into probed.numbers values (:p) returning n", { p: nothing }, row(nothing)),
  ],
  [source.proxySql]: [
    bound("a name in CAST", "select cast(:v as date)", { v: text("2026-11-21") }, row(text("2026-11-21"))),
    bound(
      "a name twice is no equal expression",
      "select date_trunc(:u, t) from (values (now())) as v (t) group by date_trunc(:u, t)",
      { u: text("day") },
      refused("42803"),
    ),
    bound("longs for limit and offset", "select 1 limit :p offset :p - 1", { p: long(1) }, column(long(1))),
    typed("stringValue is text", text("x"), "text"),
  ],
  [source.proxyNotes]: [
    probe("a name in a string, an identifier, comments", "select ':a' as \":b\" /* :c */ -- :d", row(text(":a"))),
    bound("a name after a comma", "select 1,:p", { p: long(2) }, row(long(1), long(2))),
    bound("a name in parentheses", "select (:p)", { p: long(2) }, row(long(2))),
    bound("a name in a dollar-quoted text", "select $$a :b c$$", { b: text("x") }, row(text("a $1 c"))),
    probe(
      "the end of an array's slice",
      "select (array[1,2])[1:2]",
      refused("42601", 'syntax error at or near "$1"; Position: 22'),
    ),
    bound("NULL by a cast", "select :p::int is null", { p: nothing }, row(flag(true))),
  ],
  [source.drizzle(3273)]: [
    bound("a number for a name", "select :1::int4+1", { "1": long(2) }, row(long(3))),
    probe("a name without a value", "select :x::text", supplies),
  ],
  [source.drizzleIntrospection]: [probe("a parameter of PostgreSQL's", "select $1::text", supplies)],
  [source.dylanFindings]: [
    bound("underscores and digits in a name", "select :a_b_1", { a_b_1: long(1) }, row(long(1))),
    probe("other characters in a name", "select :naïve", nameInvalid),
    probe("another character first in a name", "select :é", nameInvalid),
    bound("other characters in the name of a value", "select 1", { "a-b": long(1) }, nameInvalid),
  ],
  [source.dylanSkips]: [
    typed("longValue is bigint", long(1), "bigint"),
    bound("a long is no int4", "select 1::int4 << :p", { p: long(1) }, refused("42883")),
    bound("a long by a cast", "select 1::int4 << :p::int4", { p: long(1) }, row(long(2))),
  ],
  [source.proxyErrors]: [
    bound("a text is no integer", "select 1 from probed.numbers where n = :p", { p: text("1") }, noOperator),
  ],
  [source.drizzle(2232)]: [
    bound(
      "a text for a timestamp column",
      "insert into probed.moments values (:p)",
      { p: text("2026-01-01 00:00:00") },
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
    bound("any of a literal", "select 2 = any(:p::int[])", { p: text("{1,2}") }, row(flag(true))),
  ],
  [source.operations]: [
    back("a text", text("ü 'quoted' \"x\" \\ 😀")),
    back("a negative long", long(-9007199254740991)),
  ],
  [source.postgres]: [
    bound("NULL where no type is known", "select pg_typeof(:p)::text", { p: nothing }, refused("42P18")),
    bound(
      "a long too great for an int4 column",
      "insert into probed.numbers values (:p)",
      { p: long(3000000000) },
      refused("22003", "integer out of range"),
    ),
    bound("a NUL character in a text", "select :p", { p: text("a\0b") }, nul),
    probe("a NUL character in a statement", "select 'a\0b'", nul),
  ],
  [source.unproved]: [
    typed("doubleValue is float8", double(0.5), "double precision"),
    bound("a value without a name", "select 1", { x: long(1) }, row(long(1))),
    probe(":= is left alone", "do 'declare n int; begin n := 1; end'", done),
    probe(":= in a dollar-quoted text", "do $$ declare n int; begin n := 1; end $$", done),
  ],
});
