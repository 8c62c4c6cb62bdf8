import { registerHooks } from "node:module";
import { RDSData } from "@aws-sdk/client-rds-data";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Emulator, key, startEmulator } from "../../test/emulator.ts";

type Query<Result> = (sql: string | object | ((previous: Records) => unknown[]), parameters?: object) => Result;

interface Records {
  records: Record<string, unknown>[];
}

interface Transaction {
  query: Query<Transaction>;
  rollback(listener: (error: Error) => void): Transaction;
  commit(): Promise<unknown[]>;
}

interface Client {
  query: Query<Promise<Records>>;
  transaction(): Transaction;
}

let emulator: Emulator;
let client: Client;

/** The client is of the days of the SDK's version 2, which it loads although it is given another one. */
async function loadClient(): Promise<(options: object) => Client> {
  const hooks = registerHooks({
    resolve: (specifier, context, next) => next(specifier === "aws-sdk" ? "node:path" : specifier, context),
  });
  // @ts-expect-error It has no types.
  const { default: init } = await import("data-api-client");
  hooks.deregister();
  return init;
}

/** Version 3 of the SDK, whose calls return promises, in the form of version 2. */
const version2Of = (data: RDSData) =>
  class {
    executeStatement = (input: never) => ({ promise: () => data.executeStatement(input) });
    batchExecuteStatement = (input: never) => ({ promise: () => data.batchExecuteStatement(input) });
    beginTransaction = (input: never) => ({ promise: () => data.beginTransaction(input) });
    commitTransaction = (input: never) => ({ promise: () => data.commitTransaction(input) });
    rollbackTransaction = (input: never) => ({ promise: () => data.rollbackTransaction(input) });
  };

beforeAll(async () => {
  emulator = await startEmulator();
  const data = new RDSData({ endpoint: emulator.api.url, region: "eu-central-1", credentials: key });
  const init = await loadClient();
  client = init({ ...emulator.target, engine: "pg", AWS: { RDSDataService: version2Of(data) } });
  await client.query("create table users (id serial primary key, name text unique, age int)");
  await client.query("insert into users (name, age) values (:name, :age)", { name: "Ada", age: 36 });
});

afterAll(() => emulator.stop());

const records = async (sql: string, parameters?: object) => (await client.query(sql, parameters)).records;
const insert = "insert into users (name) values (:name)";
const every = { a: "x", b: 7, c: 0.5, d: true, e: null };
const at = new Date("2026-11-21T10:15:00.123Z");
const uuid = "8c3f7f3a-2f5d-4c2e-9a39-3f1bb2c7e0a1";
const described = [expect.objectContaining({ label: "n", typeName: "int4" })];
const duplicate = 'ERROR: duplicate key value violates unique constraint "users_name_key"; SQLState: 23505';

/** The second statement uses the result of the first. */
const commit = () =>
  client
    .transaction()
    .query(`${insert} returning id`, { name: "Committed" })
    .query(({ records: [user] }) => ["update users set age = 1 where id = :id", { id: user?.id }])
    .commit();

async function fail() {
  const heard: string[] = [];
  const transaction = client.transaction().query(insert, { name: "Undone" }).query("select 1/0");
  await transaction
    .rollback(({ name }) => heard.push(name))
    .commit()
    .catch(() => {});
  return [heard, await records("select * from users where name = 'Undone'")];
}

describe("data-api-client", () => {
  it.each<[string, () => Promise<unknown>, unknown]>([
    ["reads records", () => records("select id as number, name from users"), [{ number: 1, name: "Ada" }]],
    ["reads nothing", () => records("select * from users where false"), []],
    [
      "reads metadata",
      async () => client.query({ sql: "select 1 as n", includeResultMetadata: true }),
      { records: [{ n: 1 }], columnMetadata: described },
    ],
    ["sends each type", () => records("select :a as a, :b as b, :c as c, :d as d, :e as e", every), [every]],
    ["sends bytes", () => records("select :p as p", { p: Buffer.from([0, 255]) }), [{ p: new Uint8Array([0, 255]) }]],
    ["sends a date as UTC and reads it", () => records("select :at as at", { at }), [{ at }]],
    ["reads timestamptz", () => records("select '2026-11-21 12:15:00.123+02'::timestamptz as at"), [{ at }]],
    ["casts a parameter", () => records("select :doc::jsonb->>'a' as a", { doc: '{"a": 1}' }), [{ a: "1" }]],
    [
      "sends a typed value",
      () => records("select :id as id", [{ name: "id", value: { stringValue: uuid } }]),
      [{ id: uuid }],
    ],
    ["reads numeric as text", () => records("select 19.90 as price"), [{ price: "19.90" }]],
    ["reads jsonb as text", () => records(`select '{"a": 1}'::jsonb as doc`), [{ doc: '{"a":1}' }]],
    ["reads an array", () => records("select array['a'] as tags"), [{ tags: { stringValues: ["a"] } }]],
    ["inserts, returning", () => records(`${insert} returning age`, { name: "Ben" }), [{ age: null }]],
    ["counts updated records", () => client.query("update users set age = 1"), { numberOfRecordsUpdated: 2 }],
    ["inserts a batch", () => client.query(insert, [[{ name: "B1" }], [{ name: "B2" }]]), { updateResults: [{}, {}] }],
    ["commits", async () => (await commit()).at(-1), { transactionStatus: "Transaction Committed" }],
    ["undoes a transaction that fails", fail, [["DatabaseErrorException"], []]],
    [
      "tells the error of the database",
      () => records(insert, { name: "Ada" }).catch(({ message }) => message),
      duplicate,
    ],
  ])("%s", async (_, call, expected) => {
    expect(await call()).toEqual(expected);
  });
});
