import {
  bySource,
  column,
  execute,
  invalid,
  long,
  nothing,
  probe,
  rollback,
  row,
  scenario,
  text,
  texts,
  transaction,
  updated,
  within,
} from "./probe.ts";
import * as source from "./sources.ts";

const metadata = { includeResultMetadata: true };
/** Some members of the columnMetadata of each column of a query. */
const described = (query: string, ...columnMetadata: object[]) =>
  probe(`columns of ${query}`, `select ${query}`, { columnMetadata }, metadata);
const typed = (expression: string, typeName: string, type: number) => described(expression, { typeName, type });

const option = (expression: string, options: object, field: object) =>
  probe(`${expression} ${JSON.stringify(options)}`, `select ${expression}`, row(field), { resultSetOptions: options });
const longAsText = { longReturnType: "STRING" };
const decimalAsNumber = { decimalReturnType: "DOUBLE_OR_LONG" };

const json = { formatRecordsAs: "JSON" };
const formatted = (query: string, formattedRecords: string, extra: object = {}) =>
  probe(`JSON of ${query}`, `select ${query}`, { formattedRecords, records: undefined }, { ...json, ...extra });

export const results = bySource({
  [source.executeStatement]: [
    probe("no rows", "select * from probed.shelf where false", { records: [], columnMetadata: undefined }),
    probe("columns that share a label", "select 1 as a, 2 as a", row(long(1), long(2))),
    probe("rows in order", "select generate_series(3, 1, -1)", column(long(3), long(2), long(1))),
    scenario(
      "numbers of updated records",
      execute("insert into probed.counted values (1), (2)", { ...updated(2), generatedFields: [] }),
      execute("update probed.counted set id = 3 where id = 1", updated(1)),
      execute("update probed.counted set id = 4 where id = 1", updated(0)),
      execute("merge into probed.counted c using (values (3)) v (n) on c.id = n when matched then delete", updated(1)),
      execute("delete from probed.counted", updated(1)),
    ),
    probe("DDL", "create table probed.made (id int)", updated(0)),
    probe("returning", "insert into probed.plain values (-1, null) returning *", row(long(-1), nothing)),
    probe("values", "values (1, 'a')", row(long(1), text("a"))),
    probe("a common table expression", "with n as (select 1 as id) select * from n", row(long(1))),
    probe("show", "show server_encoding", row(text("UTF8"))),
    probe("explain", "explain (costs off) select 1", column(text("Result"))),
  ],
  [source.flociTests]: [probe("a select updates none", "select 1", { numberOfRecordsUpdated: 0 })],
  [source.proxyErrors]: [
    probe("columns of no rows", "select * from probed.shelf where false", { columnMetadata: [{}, {}] }, metadata),
    probe("no columns of a delete", "delete from probed.empty", { columnMetadata: undefined }, metadata),
  ],
  [source.proxyRun]: [
    described("title as heading from probed.typed", { label: "heading", name: "title" }),
    scenario(
      "columns of a changed table",
      execute("select was from probed.renamed", { columnMetadata: [{ name: "was" }] }, metadata),
      execute("alter table probed.renamed rename was to became"),
      execute("select became from probed.renamed", { columnMetadata: [{ name: "became" }] }, metadata),
    ),
    transaction(
      "columns of what is rolled back",
      "alter table probed.altered rename a to b",
      within(execute("select b from probed.altered", { columnMetadata: [{ name: "b" }] }, metadata)),
      rollback(),
      execute("select a as x from probed.altered", { columnMetadata: [{ name: "a" }] }, metadata),
    ),
    described("1 as one", { label: "one", name: "one", tableName: "" }),
  ],
  [source.columnMetadata]: [
    described("title, tags from probed.typed", { tableName: "typed", nullable: 0 }, { schemaName: "", nullable: 1 }),
    described("price, title, code from probed.typed", { precision: 8, scale: 2 }, { precision: 40 }, { precision: 3 }),
    described("1", { isSigned: true, isCaseSensitive: false, isCurrency: false, isAutoIncrement: false, nullable: 2 }),
    described("'a'::text", { isSigned: false, isCaseSensitive: true, arrayBaseColumnType: 0 }),
    described("array[1]", { typeName: "_int4", type: 2003, arrayBaseColumnType: 4 }),
  ],
  [source.proxyTypes]: [
    typed("1::int2", "int2", 5),
    typed("1", "int4", 4),
    typed("1::int8", "int8", -5),
    typed("1::float4", "float4", 7),
    typed("1::float8", "float8", 8),
    typed("1.5", "numeric", 2),
    typed("true", "bool", -7),
    typed("'a'::text", "text", 12),
    typed("'a'::varchar", "varchar", 12),
    typed("'a'::char(1)", "bpchar", 1),
    typed("''::bytea", "bytea", -2),
    typed("current_date", "date", 91),
    typed("localtime", "time", 92),
    typed("localtimestamp", "timestamp", 93),
    typed("now()", "timestamptz", 93),
    typed("null::uuid", "uuid", 1111),
    typed("'{}'::json", "json", 1111),
    typed("'{}'::jsonb", "jsonb", 1111),
    typed("'calm'::probed.mood", "mood", 12),
    described(
      "id, small from probed.typed",
      { typeName: "bigserial", isAutoIncrement: true },
      { typeName: "smallserial" },
    ),
    described("number, id + 1 from probed.typed", { typeName: "serial", isAutoIncrement: true }, { typeName: "int8" }),
  ],
  [source.resultSetOptions]: [
    option("9007199254740993", longAsText, text("9007199254740993")),
    option("1::int4", longAsText, long(1)),
    option("array[9007199254740993]", longAsText, texts("9007199254740993")),
    option("19.90", decimalAsNumber, { doubleValue: 19.9 }),
    option("20::numeric", decimalAsNumber, long(20)),
    option("1.50", { decimalReturnType: "STRING" }, text("1.50")),
    option("7::int8", { longReturnType: "LONG" }, long(7)),
  ],
  [source.jsonFormat]: [
    formatted("1 as id, true as yes, null as nothing", '[{"id":1,"yes":true,"nothing":null}]'),
    formatted("1.50 as price, 0.5::float8 as half", '[{"price":"1.50","half":0.5}]'),
    formatted(`'a "b"' || E'\\n\\t' as name`, '[{"name":"a \\"b\\"\\n\\t"}]'),
    formatted("array[1, null] as list, array['a'] as names", '[{"list":[1,null],"names":["a"]}]'),
    formatted("'\\x00ff'::bytea as bytes", '[{"bytes":"AP8="}]'),
    formatted("date '2026-11-21' as day", '[{"day":"2026-11-21"}]'),
    formatted('1 as "Label: x"', '[{"Label: x":1}]'),
    formatted("generate_series(1, 2) as n", '[{"n":1},{"n":2}]'),
    formatted("1 as a where false", "[]"),
    formatted("9007199254740993 as a", '[{"a":"9007199254740993"}]', { resultSetOptions: longAsText }),
    formatted("1.50 as b", '[{"b":1.5}]', { resultSetOptions: decimalAsNumber }),
    formatted("1 as c", '[{"c":1}]', metadata),
    probe("no metadata beside JSON", "select 1", { columnMetadata: undefined }, { ...json, ...metadata }),
    probe("labels of JSON that are not unique", "select 1 as a, 2 as a", invalid(/./), json),
    probe("no JSON of an insert", "insert into probed.plain values (-2) returning id", row(long(-2)), json),
  ],
  [source.unproved]: [formatted(`'{"a": 1}'::jsonb as doc`, '[{"doc":"{\\"a\\":1}"}]')],
});
