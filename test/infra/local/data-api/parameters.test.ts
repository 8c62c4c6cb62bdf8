import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Emulator, errorOf, parameter, startEmulator } from "./emulator.ts";

let data: Emulator;

beforeAll(async () => {
  data = await startEmulator();
});

afterAll(() => data.stop());

describe("statements", () => {
  it("refuses a second statement", async () => {
    expect(await errorOf(data.execute("select 1; select 2"))).toBe(
      "ValidationException 400: Multistatements aren't supported.",
    );
  });

  it.each([
    ["a semicolon at the end", "select 1; "],
    ["a comment after it", "select 1; -- done; really\n /* and; /* done; */ */ ;"],
    ["one in a string", "select 1 where ';' <> 'it''s; '"],
    ["one in an escape string", "select 1 where E'\\';' <> ''"],
    ["one after both kinds of quote in an escape string", "select 1 where E'a''\\';' <> ''"],
    ["one in an identifier", 'select 1 as "a;""b;"'],
    ["one in a comment", "select /* ; */ 1 -- ;"],
    ["one in a dollar-quoted body", "select 1 where $x$ ; $$ ; $x$ <> $$;$$"],
  ])("takes a statement with %s for one statement", async (_, sql) => {
    expect(await data.value(sql)).toEqual({ longValue: 1 });
  });

  it.each([
    ["a backslash before the quote of a plain string", "select 'a\\'; select 'b'"],
    ["an identifier that ends in e before a string", "select date'2020-01-01\\'; select 1"],
    ["a dollar sign inside an identifier", "select 1 as a$b$; select 2 as a$b$"],
  ])("finds the second statement after %s", async (_, sql) => {
    expect(await errorOf(data.execute(sql))).toMatch("Multistatements");
  });
});

describe("named parameters", () => {
  it("replaces names and leaves casts alone", async () => {
    const parameters = [parameter("v", { stringValue: '{"a":1}' }), parameter("1", { longValue: 2 })];

    const { records } = await data.execute("select :v::jsonb->>'a', :1::int4+1", { parameters });

    expect(records).toEqual([[{ stringValue: "1" }, { longValue: 3 }]]);
  });

  it("leaves colons in strings, identifiers and comments alone", async () => {
    const { records } = await data.execute("select ':a' as \":b\" /* :c */ -- :d");

    expect(records).toEqual([[{ stringValue: ":a" }]]);
  });

  it("binds each occurrence of a name by itself", async () => {
    const parameters = [parameter("unit", { stringValue: "day" })];
    const grouped = "select date_trunc(:unit, t) from (values (now())) as v(t) group by date_trunc(:unit, t)";

    expect(await data.value("select :unit || :unit", { parameters })).toEqual({ stringValue: "dayday" });
    expect(await errorOf(data.execute(grouped, { parameters }))).toMatch(/must appear in the GROUP BY clause.*42803$/);
  });

  it("substitutes inside dollar-quoted bodies, as the service does", async () => {
    const parameters = [parameter("b", { stringValue: "x" })];

    expect(await data.value("select $$a :b c$$", { parameters })).toEqual({ stringValue: "a $1 c" });
  });

  it("takes the end of an array slice for a name, as the service does", async () => {
    expect(await errorOf(data.execute("select (array[1,2])[1:2]"))).toBe(
      'DatabaseErrorException 400: ERROR: syntax error at or near "$1"; Position: 22; SQLState: 42601',
    );
  });

  it("leaves := alone", async () => {
    await data.execute("do $$ declare n int; begin n := 1; end $$");
  });

  it.each(["select :naïve", "select :é"])("refuses other characters in a name: %s", async (sql) => {
    expect(await errorOf(data.execute(sql))).toBe("ValidationException 400: Named parameter syntax is invalid");
  });

  it("refuses other characters in the name of a given parameter", async () => {
    const parameters = [parameter("a-b", { longValue: 1 })];

    expect(await errorOf(data.execute("select 1", { parameters }))).toBe(
      "ValidationException 400: Named parameter syntax is invalid",
    );
  });

  it("answers an unbound name with PostgreSQL's bind error", async () => {
    expect(await errorOf(data.execute("select :x::text"))).toMatch(
      /^DatabaseErrorException 400: ERROR: bind message supplies 0 parameters, but prepared statement "" requires 1; SQLState: 08P01$/,
    );
  });

  it("ignores parameters that the statement does not name", async () => {
    expect(await data.value("select 1", { parameters: [parameter("x", { longValue: 1 })] })).toEqual({ longValue: 1 });
  });
});

describe("types of parameters", () => {
  const typed = (field: Parameters<typeof parameter>[1], hint?: Parameters<typeof parameter>[2]) =>
    data.value("select pg_typeof(:p)::text", { parameters: [parameter("p", field, hint)] });

  it("binds stringValue as text", async () => {
    const parameters = [parameter("p", { stringValue: "1" })];

    expect(await typed({ stringValue: "x" })).toEqual({ stringValue: "text" });
    expect(await errorOf(data.execute("select 1 from pg_class where relnatts::int4 = :p", { parameters }))).toBe(
      "DatabaseErrorException 400: ERROR: operator does not exist: integer = text; Hint: No operator matches the given name and argument types. You might need to add explicit type casts.; Position: 45; SQLState: 42883",
    );
  });

  it("refuses text for a timestamp column", async () => {
    await data.execute("create table moments (at timestamp)");
    const parameters = [parameter("p", { stringValue: "2026-01-01 00:00:00" })];

    expect(await errorOf(data.execute("insert into moments values (:p)", { parameters }))).toMatch(
      'column "at" is of type timestamp without time zone but expression is of type text; Hint: You will need to rewrite or cast the expression.; Position: ',
    );
  });

  it("binds longValue as bigint, however small", async () => {
    const parameters = [parameter("p", { longValue: 1 })];

    expect(await typed({ longValue: 1 })).toEqual({ stringValue: "bigint" });
    expect(await errorOf(data.execute("select 1::int4 << :p", { parameters }))).toMatch("integer << bigint");
    expect(await data.column("select 1 limit :p offset :p - 1", { parameters })).toEqual([{ longValue: 1 }]);
  });

  it("binds doubleValue as float8, booleanValue as boolean, blobValue as bytea", async () => {
    const bytes = new Uint8Array([0, 1, 254, 255]);

    expect(await typed({ doubleValue: 0.5 })).toEqual({ stringValue: "double precision" });
    expect(await typed({ booleanValue: false })).toEqual({ stringValue: "boolean" });
    expect(await typed({ blobValue: bytes })).toEqual({ stringValue: "bytea" });
    expect(await data.value("select :p", { parameters: [parameter("p", { blobValue: bytes })] })).toEqual({
      blobValue: bytes,
    });
  });

  it("binds NULL without a type", async () => {
    const parameters = [parameter("p", { isNull: true })];

    expect(await data.value("select :p::int is null", { parameters })).toEqual({ booleanValue: true });
    expect(await errorOf(data.execute("select pg_typeof(:p), abs(:p)", { parameters }))).toMatch(/SQLState: 42\w{3}$/);
  });

  it.each([
    ["DATE", "2026-11-21", "date"],
    ["TIME", "10:15:00.123456", "time without time zone"],
    ["TIMESTAMP", "2026-11-21 10:15:00.123456", "timestamp without time zone"],
    ["DECIMAL", "12.50", "numeric"],
    ["JSON", '{"a":1}', "json"],
    ["UUID", "8c3f7f3a-2f5d-4c2e-9a39-3f1bb2c7e0a1", "uuid"],
  ] as const)("binds the hint %s", async (hint, text, type) => {
    expect(await typed({ stringValue: text }, hint)).toEqual({ stringValue: type });
  });

  it("refuses a TIMESTAMP in the form of ISO 8601", async () => {
    const parameters = [parameter("p", { stringValue: "2026-11-21T10:15:00Z" }, "TIMESTAMP")];

    expect(await errorOf(data.execute("select :p", { parameters }))).toMatch(
      "ValidationException 400: Timestamp format",
    );
  });

  it("refuses array parameters", async () => {
    const parameters = [parameter("p", { arrayValue: { longValues: [1, 2] } })];

    expect(await errorOf(data.execute("select 1 = any(:p)", { parameters }))).toBe(
      "ValidationException 400: Array parameters are not supported",
    );
  });

  it("refuses NUL characters like PostgreSQL, in text and statement", async () => {
    const encoding = 'DatabaseErrorException 400: ERROR: invalid byte sequence for encoding "UTF8": 0x00';

    expect(await errorOf(typed({ stringValue: "a\0b" }))).toMatch(encoding);
    expect(await errorOf(data.execute("select 'a\0b'"))).toMatch(encoding);
  });
});
