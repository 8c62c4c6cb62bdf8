import { ExecuteStatementCommand } from "@aws-sdk/client-rds-data";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDataApi } from "../../../../infra/aws-local/data-api/server.ts";
import { key } from "../../../support/environment.ts";
import { clientOf, type Emulator, errorOf, parameter, resourceArn, secretArn, startEmulator } from "./emulator.ts";

let data: Emulator;

beforeAll(async () => {
  data = await startEmulator();
});

afterAll(() => data.stop());

const tooLarge = "UnsupportedResultException 400: The result exceeds the size limit 1 MB.";
const uuids = (rows: number) => `select md5(i::text)::uuid as id from generate_series(1, ${rows}) as i`;

describe("the result of 1 MiB", () => {
  it("counts the values, 4 bytes a column and 2 bytes a row", async () => {
    // 36 + 4 + 2 bytes a row.
    const rowsMax = Math.floor((1024 * 1024) / 42);

    expect(await data.column(uuids(rowsMax))).toHaveLength(rowsMax);
    expect(await errorOf(data.execute(uuids(rowsMax + 1)))).toBe(tooLarge);
  });

  it("counts bytes, not characters", async () => {
    const sql = "select repeat('é', 1000) from generate_series(1, :rows)";
    const rows = (longValue: number) => ({ parameters: [parameter("rows", { longValue })] });

    expect(await data.column(sql, rows(522))).toHaveLength(522);
    expect(await errorOf(data.execute(sql, rows(523)))).toBe(tooLarge);
  });

  it("holds for records as JSON as well", async () => {
    expect(await errorOf(data.execute(uuids(25_000), { formatRecordsAs: "JSON" }))).toBe(tooLarge);
  });

  it("leaves a transaction usable that went beyond it", async () => {
    const transactionId = await data.begin();
    expect(await errorOf(data.execute(uuids(30_000), { transactionId }))).toBe(tooLarge);

    expect(await data.value("select 1", { transactionId })).toEqual({ longValue: 1 });
    await data.rollback(transactionId);
  });
});

describe("other limits", () => {
  it("refuses a row of more than 64 KiB", async () => {
    const row = (length: number) => data.execute(`select repeat('x', ${length})`);

    expect(await errorOf(row(65_530))).toBe("no error");
    expect(await errorOf(row(65_531))).toBe("UnsupportedResultException 400: Packet for query is too large");
  });

  it("can be told to let larger rows pass", async () => {
    const api = await startDataApi({
      databaseUrl: data.postgres.url,
      key,
      limits: { rowBytes: Number.POSITIVE_INFINITY },
    });
    const sql = "select repeat('x', 500000)";
    const { records } = await clientOf(api.url).send(new ExecuteStatementCommand({ resourceArn, secretArn, sql }));
    await api.close();

    expect(records?.[0]?.[0]?.stringValue).toHaveLength(500_000);
  });

  it("refuses statements of more than 65,536 characters", async () => {
    const statement = (characters: number) => `select '${"😀".repeat(characters - 17)}' is null`;

    expect(statement(65_536)).toHaveLength(65_536 * 2 - 17);
    expect(await errorOf(data.execute(statement(65_536)))).toBe("no error");
    expect(await errorOf(data.execute(statement(65_537)))).toMatch(
      "Value at 'sql' failed to satisfy constraint: Member must have length less than or equal to 65536",
    );
  });

  it("refuses a request of more than 4 MiB and runs nothing of it", async () => {
    const calls = data.api.calls.length;
    const send = (length: number) =>
      data.execute("select length(:text)", { parameters: [parameter("text", { stringValue: "x".repeat(length) })] });

    expect(await errorOf(send(4 * 1024 * 1024 - 5000))).toBe("no error");
    expect(await errorOf(send(4 * 1024 * 1024))).toMatch(" 413: ");
    expect(data.api.calls).toHaveLength(calls + 1);
  });
});
