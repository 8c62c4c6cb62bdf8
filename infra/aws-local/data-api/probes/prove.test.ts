import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf, key, useEmulator } from "../../test/emulator.ts";
import { serviceLimits } from "../limits.ts";
import { startDataApi } from "../server.ts";
import { themesOf } from "./all.ts";
import { fixture } from "./fixture.ts";
import { runProbe } from "./run.ts";

/** The service's 45 s and 3 minutes, shortened. Statements exceed it by half, more than a busy machine stands still. */
const limits = { ...serviceLimits, statementTimeoutInMilliseconds: 4000, transactionIdleInMilliseconds: 1000 };
const emulator = useEmulator();
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "prove-"));
});

afterAll(() => rm(folder, { recursive: true }));

const results = () => join(folder, "results.json");

/** Runs the command against the emulator as if that were AWS. */
function start(changed: Record<string, string> = {}, more: string[] = ["--without-waiting"]) {
  const { resourceArn: cluster, secretArn: secret, database } = emulator.target;
  const named = { cluster, secret, database, results: results(), ...changed };
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    AWS_ENDPOINT_URL_RDS_DATA: emulator.api.url,
    AWS_ACCESS_KEY_ID: key.accessKeyId,
    AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
  };
  const flags = Object.entries(named).map(([name, value]) => `--${name}=${value}`);
  return promisify(execFile)(process.execPath, [join(import.meta.dirname, "prove.ts"), ...flags, ...more], { env });
}

async function end(running: ReturnType<typeof start>) {
  const { code = 0, stdout, stderr } = await running.catch((error) => error);
  return { code, stdout, stderr };
}

const schemas = async () => {
  const { records } = await emulator.execute("select nspname::text from pg_namespace where nspname = 'probed'");
  return records?.length;
};

describe("The emulator", () => {
  it("responds as the probes expect: npm run prove finds no difference, writes all and leaves nothing", async () => {
    const { code, stdout, stderr } = await end(start());

    expect(stdout).toMatch(/^0 of 2\d\d probes differ \(\d+ calls; all results: .*\)\n$/);
    expect([code, stderr]).toEqual([0, ""]);
    const { version, probes } = JSON.parse(await readFile(results(), "utf8"));
    expect(version).toMatch(/^PostgreSQL 18/);
    expect(probes[0]).toMatchObject({
      theme: "types",
      name: "7::int2",
      source: expect.stringContaining("data-api-operations"),
      results: [{ differs: false, response: { records: [[{ longValue: 7 }]] } }],
    });
    expect(await schemas()).toBe(0);
  });

  it("ends what takes too long, also as expected", async () => {
    for (const sql of fixture) await emulator.execute(sql);
    const api = await startDataApi({ databaseUrl: emulator.postgres.url, key, limits });
    const target = { ...emulator.target, client: clientOf(api.url) };

    const all = await Promise.all(themesOf(limits).timeOuts.map((probe) => runProbe(target, probe)));

    await api.close();
    await emulator.execute("drop schema probed cascade");
    expect(all.length).toBeGreaterThan(3);
    expect(all.flat().filter(({ differs }) => differs)).toEqual([]);
  });
});

describe("npm run prove", () => {
  it("prints each difference", async () => {
    emulator.api.intercept(({ sql }) =>
      sql === "select 7::int2" ? { kind: "error", status: 400, type: "BadRequestException" } : undefined,
    );

    const { code, stdout } = await end(start());

    emulator.api.intercept(undefined);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^types: 7::int2 \(AWS, .*\)\n {2}execute .*\n {4}expected .*\n {4}got .*"BadRequestException".*\n1 of /,
    );
    expect(await schemas()).toBe(0);
  });

  it("drops its schema when it is interrupted", async () => {
    const running = start({}, []);
    await expect.poll(schemas).toBe(1);
    running.child.kill("SIGINT");

    expect(await end(running)).toEqual({ code: 2, stdout: "", stderr: "Interrupted\n" });
    expect(await schemas()).toBe(0);
  });

  it.each([
    { what: "an unknown flag", changed: { colour: "red" }, line: /^TypeError: Unknown option '--colour'/ },
    {
      what: "no ARN of a cluster",
      changed: { cluster: "here" },
      line: /^Error: --cluster with an ARN.*npm run prove -- --cluster ARN/,
    },
    {
      what: "a database that is not there",
      changed: { database: "nowhere" },
      line: /^DatabaseErrorException: .*"nowhere" does not exist/,
    },
    {
      what: "a database with a schema of that name",
      changed: {},
      line: /^Error: There is a schema "probed" already in the database postgres/,
    },
  ])("refuses $what in one line, and leaves everything alone", async ({ changed, line }) => {
    await emulator.execute("create schema probed");
    emulator.api.calls.length = 0;

    const { code, stdout, stderr } = await end(start(changed));

    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(line);
    expect(stderr.split("\n")).toHaveLength(2);
    expect(emulator.api.calls.filter(({ sql }) => sql && !sql.startsWith("select"))).toEqual([]);
    await emulator.execute("drop schema probed");
  });
});
