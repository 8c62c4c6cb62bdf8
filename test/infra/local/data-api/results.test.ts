import type { ExecuteStatementCommandInput } from "@aws-sdk/client-rds-data";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Emulator, errorOf, startEmulator } from "./emulator.ts";

let data: Emulator;

beforeAll(async () => {
  data = await startEmulator();
  await data.execute("create type mood as enum ('calm', 'cross')");
  await data.execute("create table plain (id int, note text)");
});

afterAll(() => data.stop());

describe("values", () => {
  it.each([
    ["int2", "7::int2", { longValue: 7 }],
    ["int4", "-7", { longValue: -7 }],
    ["int8", "9007199254740991", { longValue: 9007199254740991 }],
    ["oid", "26::oid", { longValue: 26 }],
    ["count(*)", "(select count(*) from plain)", { longValue: 0 }],
    ["numeric with its scale", "123456.7890", { stringValue: "123456.7890" }],
    ["float8", "1.5e-7::float8", { doubleValue: 1.5e-7 }],
    ["float4, widened to a double", "0.1::float4", { doubleValue: 0.10000000149011612 }],
    ["true", "true", { booleanValue: true }],
    ["false", "false", { booleanValue: false }],
    ["text", `'a "quoted" ü \n😀'`, { stringValue: 'a "quoted" ü \n😀' }],
    ["char(n) with its padding", "'a'::char(3)", { stringValue: "a  " }],
    ["name", "'n'::name", { stringValue: "n" }],
    ["uuid", "'8C3F7F3A-2F5D-4C2E-9A39-3F1BB2C7E0A1'::uuid", { stringValue: "8c3f7f3a-2f5d-4c2e-9a39-3f1bb2c7e0a1" }],
    ["an enum", "'cross'::mood", { stringValue: "cross" }],
    ["json as its text", `'{"a": [1]}'::json`, { stringValue: '{"a": [1]}' }],
    ["jsonb as its text, compact", `'{"b":2,"a":"x: , \\\\"}'::jsonb`, { stringValue: '{"a":"x: , \\\\","b":2}' }],
    ["a range of numbers", "int4range(1, 3)", { stringValue: "[1,3)" }],
    ["what a function without a result returns", "pg_sleep(0)", { stringValue: "" }],
    ["inet", "'10.0.0.1'::inet", { stringValue: "10.0.0.1" }],
    ["date", "'2026-11-21'::date", { stringValue: "2026-11-21" }],
    ["time", "'10:15:00'::time", { stringValue: "10:15:00" }],
    ["timestamp", "'2026-11-21 10:15:00'::timestamp", { stringValue: "2026-11-21 10:15:00" }],
    ["milliseconds in three digits", "'2026-11-21 10:15:00.5'::timestamp", { stringValue: "2026-11-21 10:15:00.500" }],
    ["microseconds in six digits", "'10:15:00.00012'::time", { stringValue: "10:15:00.000120" }],
    ["bytea", "'\\x00ff10'::bytea", { blobValue: new Uint8Array([0, 255, 16]) }],
    ["NULL", "null::int", { isNull: true }],
  ])("returns %s", async (_, expression, field) => {
    expect(await data.value(`select ${expression}`)).toEqual(field);
  });

  it("returns timestamptz in UTC without its offset", async () => {
    const expression = "'2024-01-15 12:34:56.25+09'::timestamptz";

    expect(await data.value(`select ${expression}`)).toEqual({ stringValue: "2024-01-15 03:34:56.250" });
  });

  it("returns timestamptz in UTC to the west of it as well", async () => {
    const transactionId = await data.begin();
    await data.execute("set time zone 'America/St_Johns'", { transactionId });
    const value = await data.value("select '2024-01-01 01:00:00Z'::timestamptz", { transactionId });
    await data.rollback(transactionId);

    expect(value).toEqual({ stringValue: "2024-01-01 01:00:00" });
  });

  it("returns timestamptz in UTC even where the transaction set another time zone", async () => {
    const transactionId = await data.begin();
    await data.execute("set time zone 'Asia/Kathmandu'", { transactionId });
    const sql = "select '2023-12-31 22:00:00.000001Z'::timestamptz, '0999-01-01 00:00:00Z'::timestamptz";
    const { records } = await data.execute(sql, { transactionId });
    await data.rollback(transactionId);

    expect(records).toEqual([[{ stringValue: "2023-12-31 22:00:00.000001" }, { stringValue: "0999-01-01 00:00:00" }]]);
  });

  it("runs sessions in UTC", async () => {
    expect(await data.value("show time zone")).toEqual({ stringValue: "UTC" });
  });

  it.each(["timestamp", "timestamptz", "date"])("fails without a message on an infinite %s", async (type) => {
    expect(await errorOf(data.execute(`select 'infinity'::${type}`))).toBe("InternalFailure 500: UnknownError");
  });

  it("fails on a number that JSON cannot write", async () => {
    expect(await errorOf(data.execute("select 'NaN'::float8"))).toMatch("InternalFailure 500");
  });
});

describe("arrays", () => {
  it.each([
    ["int4[]", "'{1,NULL,3}'::int4[]", { longValues: [1, null, 3] }],
    ["int8[] with other bounds", "'[0:1]={1,2}'::int8[]", { longValues: [1, 2] }],
    ["float8[]", "'{0.5,2}'::float8[]", { doubleValues: [0.5, 2] }],
    ["real[], not widened", "'{3.14}'::real[]", { doubleValues: [3.14] }],
    ["bool[]", "'{t,f}'::bool[]", { booleanValues: [true, false] }],
    ["numeric[]", "'{1.50}'::numeric[]", { stringValues: ["1.50"] }],
    ["date[]", "'{2026-11-21}'::date[]", { stringValues: ["2026-11-21"] }],
    [
      "text[] with all that needs quoting",
      `array['a', 'b c', null, 'NULL', '', 'd"e', 'f,g', '{h}', 'i\\j', E'k\\nl']`,
      { stringValues: ["a", "b c", null, "NULL", "", 'd"e', "f,g", "{h}", "i\\j", "k\nl"] },
    ],
    ["an empty array", "'{}'::text[]", { stringValues: [] }],
  ])("returns %s", async (_, expression, arrayValue) => {
    expect(await data.value(`select ${expression}`)).toEqual({ arrayValue });
  });

  it("refuses a multidimensional array", async () => {
    expect(await errorOf(data.execute("select '{{1,2},{3,4}}'::int[]"))).toBe(
      "UnsupportedResultException 400: The result contains a multidimensional array",
    );
  });
});

describe("unsupported types", () => {
  it.each([
    ["'1 day'::interval", "INTERVAL"],
    [`'a'::"char"`, '"CHAR"'],
    ["'10:00+02'::timetz", "TIMETZ"],
    ["'<a/>'::xml", "xml"],
    ["'(1,2)'::point", "POINT"],
    ["'1'::money", "MONEY"],
    ["'pg_class'::regclass", "regclass"],
    ["array['int4'::regtype]", "regtype[]"],
    ["array['1 day'::interval]", "INTERVAL[]"],
    ["'1 2'::int2vector", "int2vector"],
    ["int8range(1, 2)", "INT8RANGE"],
    ["'{[1,2)}'::int4multirange", "int4multirange"],
    ["'08:00:2b:01:02:03'::macaddr", "MACADDR"],
    ["row(1, 2)", "RECORD"],
    ["p from (values (1)) v left join plain p on true", "plain"],
    ["array['calm'::mood]", "mood[]"],
  ])("refuses the whole result for %s", async (expression, name) => {
    expect(await errorOf(data.execute(`select 1, ${expression}`))).toBe(
      `UnsupportedResultException 400: The result contains the unsupported data type ${name}.`,
    );
  });

  it("refuses only when there is a row to convert", async () => {
    const { records, columnMetadata } = await data.execute("select '1 day'::interval as span where false", {
      includeResultMetadata: true,
    });

    expect(records).toEqual([]);
    expect(columnMetadata?.[0]?.label).toBe("span");
  });
});

describe("result set options", () => {
  const select = (sql: string, resultSetOptions: ExecuteStatementCommandInput["resultSetOptions"]) =>
    data.execute(sql, { resultSetOptions }).then(({ records }) => records?.[0]);

  it("returns bigint as text with longReturnType STRING", async () => {
    const sql = "select 9007199254740993, 1::int4, array[9007199254740993]";

    expect(await select(sql, { longReturnType: "STRING" })).toEqual([
      { stringValue: "9007199254740993" },
      { longValue: 1 },
      { arrayValue: { stringValues: ["9007199254740993"] } },
    ]);
  });

  it("returns numeric as a number with decimalReturnType DOUBLE_OR_LONG, a long where the scale is 0", async () => {
    expect(await select("select 19.90, 20::numeric", { decimalReturnType: "DOUBLE_OR_LONG" })).toEqual([
      { doubleValue: 19.9 },
      { longValue: 20 },
    ]);
  });
});

describe("responses", () => {
  const plainResponse = async (sql: string) => {
    const { $metadata, ...members } = await data.execute(sql);
    return members;
  };

  it("answers a select with records and no update count", async () => {
    expect(await plainResponse("select id from plain")).toEqual({ records: [], numberOfRecordsUpdated: 0 });
  });

  it("answers an update without returning with its count and no records", async () => {
    expect(await plainResponse("insert into plain values (1, 'a'), (2, 'b')")).toEqual({
      numberOfRecordsUpdated: 2,
      generatedFields: [],
    });
    expect(await plainResponse("update plain set note = 'c' where id = 1")).toMatchObject({
      numberOfRecordsUpdated: 1,
    });
    expect(await plainResponse("delete from plain")).toMatchObject({ numberOfRecordsUpdated: 2 });
  });

  it("answers returning with records", async () => {
    expect(await plainResponse("insert into plain values (3, null) returning *")).toMatchObject({
      records: [[{ longValue: 3 }, { isNull: true }]],
    });
  });

  it("keeps columns that share a label", async () => {
    expect(await plainResponse("select 1 as a, 2 as a")).toMatchObject({
      records: [[{ longValue: 1 }, { longValue: 2 }]],
    });
  });
});
