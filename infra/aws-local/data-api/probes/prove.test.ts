import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { key, useEmulator } from "../../test/emulator.ts";

const emulator = useEmulator();
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "prove-"));
});

afterEach(() => emulator.api.intercept(undefined));

afterAll(() => rm(folder, { recursive: true }));

const results = () => join(folder, "results.json");

/** Runs the command against the emulator as if that were AWS. */
function start(changed: Record<string, string> = {}, more: string[] = ["--without-waiting"]) {
  const { resourceArn: cluster, secretArn: secret, database } = emulator.target;
  const named = Object.entries({ cluster, secret, database, results: results(), ...changed });
  const { accessKeyId, secretAccessKey } = key;
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    AWS_ENDPOINT_URL_RDS_DATA: emulator.api.url,
    AWS_EC2_METADATA_DISABLED: "true",
    ...(changed.unsigned === undefined && { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey }),
  };
  const flags = named.filter(([name]) => name !== "unsigned").map(([name, value]) => `--${name}=${value}`);
  return spawn(process.execPath, [join(import.meta.dirname, "prove.ts"), ...flags, ...more], { env });
}

async function end(child: ReturnType<typeof start>) {
  const texts = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await once(child, "close");
  const [stdout, stderr] = await texts;
  return { code, stdout, stderr };
}

const schemas = async () => {
  const { records } = await emulator.execute("select nspname::text from pg_namespace where nspname = 'probed'");
  return records?.length;
};

describe("npm run prove", () => {
  it("finds no difference, writes all results and leaves nothing behind", async () => {
    const { code, stdout, stderr } = await end(start());

    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^0 of 2\d\d probes differ \(\d+ calls; all results: .*\)\n$/);
    const { version, probes } = JSON.parse(await readFile(results(), "utf8"));
    expect(version).toMatch(/^PostgreSQL 18/);
    expect(probes).toContainEqual({
      theme: "types",
      name: "7::int2",
      source: expect.stringContaining("data-api-operations"),
      results: [
        expect.objectContaining({
          differs: false,
          response: expect.objectContaining({ records: [[{ longValue: 7 }]] }),
        }),
      ],
    });
    expect(await schemas()).toBe(0);
  });

  it("prints each difference", async () => {
    emulator.api.intercept(({ sql }) =>
      sql === "select 7::int2" ? { kind: "error", status: 400, type: "ThrottlingException" } : undefined,
    );

    const { code, stdout } = await end(start());

    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^types: 7::int2 \(AWS, .*\)\n {2}execute .*\n {4}expected .*\n {4}got .*"ThrottlingException".*\n1 of /,
    );
    expect(await schemas()).toBe(0);
  });

  it("drops its schema when it is interrupted", async () => {
    const child = start({}, []);
    const ended = end(child);
    await expect.poll(schemas).toBe(1);
    child.kill("SIGINT");

    expect(await ended).toEqual({ code: 2, stdout: "", stderr: "Interrupted\n" });
    expect(await schemas()).toBe(0);
  });

  it.each([
    ["an unknown flag", { colour: "red" }, /^TypeError: Unknown option '--colour'/],
    [
      "no ARN of a cluster",
      { cluster: "here" },
      /^Error: --cluster with an ARN, --secret and --database are needed.*npm run prove -- --cluster ARN/,
    ],
    ["no credentials", { unsigned: "" }, /^CredentialsProviderError: Could not load credentials/],
    ["a database that is not there", { database: "nowhere" }, /^DatabaseErrorException: .*"nowhere" does not exist/],
  ])("refuses %s in one line", async (_, changed, line) => {
    emulator.api.calls.length = 0;
    const { code, stdout, stderr } = await end(start(changed));

    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(line);
    expect(stderr.split("\n")).toHaveLength(2);
    expect(emulator.api.calls.filter(({ sql }) => sql && !sql.startsWith("select"))).toEqual([]);
  });

  it("refuses a database that has a schema of that name, and leaves it alone", async () => {
    await emulator.execute("create schema probed");
    const { code, stderr } = await end(start());

    expect([code, stderr]).toEqual([2, 'Error: There is a schema "probed" already in the database postgres\n']);
    expect(await schemas()).toBe(1);
    await emulator.execute("drop schema probed");
  });
});
