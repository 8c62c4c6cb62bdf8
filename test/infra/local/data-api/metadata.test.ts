import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Emulator, errorOf, startEmulator } from "./emulator.ts";

let data: Emulator;

beforeAll(async () => {
  data = await startEmulator();
  await data.execute(
    `create table book (
       id bigserial primary key, number int4 generated always as identity, title varchar(40) not null,
       price numeric(8, 2), tags text[])`,
  );
});

afterAll(() => data.stop());

const describeColumns = async (sql: string) =>
  (await data.execute(sql, { includeResultMetadata: true })).columnMetadata ?? [];

describe("columnMetadata", () => {
  it("comes only when asked for", async () => {
    expect((await data.execute("select 1")).columnMetadata).toBeUndefined();
  });

  it("comes with an empty result, and not with a statement that yields no rows", async () => {
    expect(await describeColumns("select * from book")).toHaveLength(5);
    expect((await data.execute("delete from book", { includeResultMetadata: true })).columnMetadata).toBeUndefined();
  });

  it("has the alias as label, the table column as name, and the table", async () => {
    const [title] = await describeColumns("select title as heading from book");

    expect(title).toMatchObject({ label: "heading", name: "title", tableName: "book", schemaName: "", nullable: 0 });
  });

  it("tells PostgreSQL's own type names and the JDBC numbers", async () => {
    const columns = await describeColumns(
      "select 1, 1::int8, now(), 'a'::text, true, array[1], 1.5, '{}'::jsonb, null::uuid, 1::float8",
    );

    expect(columns.map(({ typeName, type }) => [typeName, type])).toEqual([
      ["int4", 4],
      ["int8", -5],
      ["timestamptz", 93],
      ["text", 12],
      ["bool", -7],
      ["_int4", 2003],
      ["numeric", 2],
      ["jsonb", 1111],
      ["uuid", 1111],
      ["float8", 8],
    ]);
    expect(columns[5]?.arrayBaseColumnType).toBe(4);
  });

  it("reports columns that count by themselves as serial", async () => {
    const columns = await describeColumns("select id, number, id + 1 from book");

    expect(columns.map(({ typeName, isAutoIncrement }) => [typeName, isAutoIncrement])).toEqual([
      ["bigserial", true],
      ["serial", true],
      ["int8", false],
    ]);
  });

  it("tells precision and scale of numeric and varchar", async () => {
    const columns = await describeColumns("select price, title from book");

    expect(columns.map(({ precision, scale }) => [precision, scale])).toEqual([
      [8, 2],
      [40, 0],
    ]);
  });

  it("follows a changed schema", async () => {
    await describeColumns("select tags from book");
    await data.execute("alter table book rename tags to labels");

    expect((await describeColumns("select labels as l from book"))[0]?.name).toBe("labels");
  });

  it("sees what only the transaction sees, and forgets what it rolled back", async () => {
    const transactionId = await data.begin();
    await data.execute("alter table book rename price to cost", { transactionId });
    await data.execute("create type state as enum ('new')", { transactionId });
    const sql = "select cost, 'new'::state from book";
    const inside = await data.execute(sql, { transactionId, includeResultMetadata: true });
    await data.rollback(transactionId);

    expect(inside.columnMetadata?.map(({ name, typeName }) => [name, typeName])).toEqual([
      ["cost", "numeric"],
      ["state", "state"],
    ]);
    expect((await describeColumns("select price as p from book"))[0]?.name).toBe("price");
  });
});

describe("formatRecordsAs JSON", () => {
  const format = (sql: string, extra = {}) => data.execute(sql, { formatRecordsAs: "JSON", ...extra });

  it("answers one JSON string of objects, and neither records nor columnMetadata", async () => {
    const sql = `select 1 as id, 'a "b"\n' as name, 1.50 as price, true as yes, null as nothing,
      array[1, null] as list, '{"a": 1}'::jsonb as doc, '\\x00ff'::bytea as bytes, now() - now() < '1s' as "Label: x"`;
    const { formattedRecords, records, columnMetadata } = await format(sql, { includeResultMetadata: true });

    expect(JSON.parse(formattedRecords ?? "")).toEqual([
      {
        id: 1,
        name: 'a "b"\n',
        price: "1.50",
        yes: true,
        nothing: null,
        list: [1, null],
        doc: '{"a":1}',
        bytes: "AP8=",
        "Label: x": true,
      },
    ]);
    expect([records, columnMetadata]).toEqual([undefined, undefined]);
  });

  it("honours the result set options", async () => {
    const resultSetOptions = { longReturnType: "STRING", decimalReturnType: "DOUBLE_OR_LONG" };

    expect((await format("select 9007199254740993 as a, 1.50 as b", { resultSetOptions })).formattedRecords).toBe(
      '[{"a":"9007199254740993","b":1.5}]',
    );
  });

  it("is ignored for anything but a select", async () => {
    const { formattedRecords, records } = await format("insert into book (title) values ('t') returning title");

    expect([formattedRecords, records]).toEqual([undefined, [[{ stringValue: "t" }]]]);
  });

  it("refuses labels that are not unique", async () => {
    expect(await errorOf(format("select 1 as a, 2 as a"))).toMatch("ValidationException 400");
  });
});
