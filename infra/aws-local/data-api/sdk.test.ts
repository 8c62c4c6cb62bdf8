import * as sdk from "@aws-sdk/client-rds-data";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Emulator, key, startEmulator } from "../test/emulator.ts";

let emulator: Emulator;
let data: sdk.RDSData;

beforeAll(async () => {
  emulator = await startEmulator({ limits: { statementTimeoutInMilliseconds: 500 } });
  data = new sdk.RDSData({ endpoint: emulator.api.url, region: "eu-central-1", credentials: key });
});

afterAll(() => emulator.stop());

const run = (sql: string, extra: object = {}) => data.executeStatement({ ...emulator.target, sql, ...extra });
const select = async (sql: string, extra: object = {}) => (await run(`select ${sql}`, extra)).records?.[0]?.[0];
const back = (value: object) => select(":p", { parameters: [{ name: "p", value }] });
const begin = async () => ({
  ...emulator.target,
  transactionId: (await data.beginTransaction(emulator.target)).transactionId,
});
const bytes = new Uint8Array([0, 127, 255]);

describe("the SDK", () => {
  it.each<[string, () => Promise<unknown>, object]>([
    ["sends and reads bytes", () => back({ blobValue: bytes }), { blobValue: bytes }],
    ["sends false", () => back({ booleanValue: false }), { booleanValue: false }],
    ["sends zero", () => back({ longValue: 0 }), { longValue: 0 }],
    ["reads a long that is safe", () => select("9007199254740991"), { longValue: 9007199254740991 }],
    ["rounds a long beyond that", () => select("9007199254740993"), { longValue: 9007199254740992 }],
    ["leaves out what is undefined", () => select("1", { transactionId: undefined }), { longValue: 1 }],
    [
      "tells the request's id",
      () => run("select 1"),
      { $metadata: { requestId: expect.stringMatching(/^[\w-]{36}$/) } },
    ],
    ["commits", async () => data.commitTransaction(await begin()), { transactionStatus: "Transaction Committed" }],
    ["rolls back", async () => data.rollbackTransaction(await begin()), { transactionStatus: "Rollback Complete" }],
  ])("%s", async (_, call, expected) => {
    expect(await call()).toMatchObject(expected);
  });

  it.each([
    [sdk.DatabaseErrorException, "select 1/0", {}, { $fault: "client" }],
    [sdk.TransactionNotFoundException, "select 1", { transactionId: "nobody" }, {}],
    [sdk.UnsupportedResultException, "select '1'::money", {}, {}],
    [sdk.StatementTimeoutException, "select pg_sleep(9)", {}, { dbConnectionId: expect.any(Number) }],
  ])("throws %o for %s", async (type, sql, extra, members) => {
    const error = await run(sql, extra).catch((error) => error);

    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({ ...members, $metadata: { attempts: 1 } });
  });

  it.each(["503", "throttle", "drop-before"] as const)("tries three times after %s", async (kind) => {
    emulator.api.intercept(({ attempt }) => (attempt < 3 ? { kind } : undefined));
    const { $metadata } = await run("select 1");
    emulator.api.intercept(undefined);

    expect($metadata.attempts).toBe(3);
  });
});
