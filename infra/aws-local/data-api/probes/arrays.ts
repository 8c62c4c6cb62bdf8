import {
  bound,
  bySource,
  doubles,
  flag,
  flags,
  long,
  longs,
  probe,
  row,
  text,
  texts,
  unsupported,
  value,
} from "./probe.ts";
import * as source from "./sources.ts";

export const arrays = bySource({
  [source.clientTests]: [
    value("'{1,NULL,3}'::int4[]", longs(1, null, 3)),
    value("'{10,20,30}'::int2[]", longs(10, 20, 30)),
    value("'{1000000,2000000}'::int8[]", longs(1000000, 2000000)),
    value("'{0.5,2}'::float8[]", doubles(0.5, 2)),
    value("'{3.14,2.71}'::real[]", doubles(3.14, 2.71)),
    value("'{2024-01-01,2024-06-15}'::date[]", texts("2024-01-01", "2024-06-15")),
    value("array['a', null, '']", texts("a", null, "")),
    value(`array['d"e', 'f,g', '{h}', 'i\\j']`, texts('d"e', "f,g", "{h}", "i\\j")),
    value("array['b c', E'k\\nl']", texts("b c", "k\nl")),
    value("'{alpha,beta}'::varchar[]", texts("alpha", "beta")),
    value("'{}'::int[]", longs()),
    bound("a literal", "select :p::text[]", { p: text('{a,"b c"}') }, row(texts("a", "b c"))),
    bound("string_to_array", "select string_to_array(:p, ',')::int[]", { p: text("1,2") }, row(longs(1, 2))),
    bound("a constructor", "select array[:a, :b]", { a: text("x"), b: text("y") }, row(texts("x", "y"))),
  ],
  [source.operations]: [
    value("'{t,f,NULL}'::bool[]", flags(true, false, null)),
    value("'{1.50}'::numeric[]", texts("1.50")),
    value("'{10:15:00.5}'::time[]", texts("10:15:00.500")),
    value("'{2026-11-21 10:15:00}'::timestamp[]", texts("2026-11-21 10:15:00")),
    value("'{a}'::char(3)[]", texts("a  ")),
    value("'{n}'::name[]", texts("n")),
    value("'{8c3f7f3a-2f5d-4c2e-9a39-3f1bb2c7e0a1}'::uuid[]", texts("8c3f7f3a-2f5d-4c2e-9a39-3f1bb2c7e0a1")),
    value(`array['{"a": 1}'::json]`, texts('{"a": 1}')),
  ],
  [source.postgres]: [
    value("array['NULL', 'null']", texts("NULL", "null")),
    value("(select array_agg(n) from generate_series(1, 3) as n)", longs(1, 2, 3)),
    value("array_length(array[1, 2], 1)", long(2)),
  ],
  [source.proxyNotes]: [
    probe("two dimensions", "select '{{1,2}}'::int[]", unsupported("The result contains a multidimensional array")),
  ],
  [source.differences]: [value("'{{1,2},{3,4}}'::int[]::text", text("{{1,2},{3,4}}"))],
  [source.clientReadme]: [
    bound("JSON", "select array(select jsonb_array_elements_text(:p::jsonb))", { p: text('["x"]') }, row(texts("x"))),
    bound("any of a literal", "select 2 = any(:p::int[])", { p: text("{1,2}") }, row(flag(true))),
  ],
  [source.unproved]: [
    value("'[0:1]={1,2}'::int8[]", longs(1, 2)),
    value("'{2024-01-15 12:34:56+09}'::timestamptz[]", texts("2024-01-15 03:34:56")),
    value("'{}'::text[]", texts()),
  ],
});
