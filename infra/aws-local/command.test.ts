import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { RDSData } from "@aws-sdk/client-rds-data";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runningPostgres } from "./postgres/cluster.ts";
import { buffered } from "./test/functions.ts";
import { restApi, served } from "./test/rest-api.ts";

const command = join(import.meta.dirname, "command.ts");
let directory: string;
/** A folder for the temporary files of the commands. */
let temporary: string;

const write = (file: string, content: unknown) =>
  writeFile(join(directory, file), typeof content === "string" ? content : JSON.stringify(content));

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "aws-local-test-"));
  temporary = join(directory, "temporary");
  for (const folder of ["temporary", "functions/greet", "misspelt"])
    await mkdir(join(directory, folder), { recursive: true });
  await write("functions/greet/index.mjs", buffered("return { statusCode: 200, body: process.env.GREETING };"));
  await write("functions/settings.json", { "*": { variables: { GREETING: "hi" } }, greet: { memoryInMegabytes: 256 } });
  await write("api.json", restApi({ "GET /greeting": served("greet") }));
  await write("odd.json", restApi({ "GET /greeting": served("", { type: "http_proxy" }) }));
  await write("broken.json", "{");
  await write("misspelt/settings.json", { greet: { tmeout: 1 } });
});

afterAll(() => rm(directory, { recursive: true }));

const run = (words: readonly string[]) =>
  spawn(process.execPath, [command, ...words], { cwd: directory, env: { ...process.env, TMPDIR: temporary } });

/** Starts the command, and resolves with the variables that it prints, when it has printed the last one. */
async function start(...words: string[]) {
  const child = run(words);
  const variables: Record<string, string> = {};
  for await (const line of createInterface(child.stdout)) {
    const [name = "", value = ""] = line.split(/=(.*)/);
    variables[name] = value;
    if (name === "DATABASE_NAME") break;
  }
  const stop = async () => {
    child.kill();
    await once(child, "exit");
  };
  return { variables, stop };
}

async function fail(...words: string[]): Promise<string> {
  const child = run(words);
  const [error, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
  expect(code).toBe(1);
  return error.replace("PostgreSQL is up\n", "");
}

const expectNothingLeft = async () =>
  expect(await readdir(temporary)).not.toContainEqual(expect.stringMatching(/^aws-local-\w{6}$/));

const functions = ["--functions", "functions"];
const api = ["--api", "api.json", ...functions];

describe("aws-local", () => {
  it("runs an API with its functions, at a port that is free, and leaves nothing behind", async () => {
    const { variables, stop } = await start(...api, "--bucket", "pictures", "--bucket", "papers");

    const response = await fetch(`${variables.API_URL}/greeting`);

    expect([response.status, await response.text()]).toEqual([200, "hi"]);
    expect(variables).toHaveProperty("AWS_ENDPOINT_URL_S3");
    const { port } = new URL(`${variables.API_URL}`);
    expect(await fail(...api, "--port", port)).toBe(`Port ${port} is taken\n`);
    await stop();
    await expectNothingLeft();
  });

  it.each([
    {
      what: "an unknown integration",
      words: ["--api", "odd.json", ...functions],
      line: /^GET \/greeting: .*http_proxy/,
    },
    { what: "a document that is no JSON", words: ["--api", "broken.json", ...functions], line: /^broken\.json: / },
    {
      what: "an unknown setting",
      words: ["--api", "api.json", "--functions", "misspelt"],
      line: /^misspelt\/settings\.json: .*tmeout/,
    },
    { what: "an unknown command", words: ["s3"], line: /^Unknown command s3\n/ },
    {
      what: "a port that is none",
      words: [...api, "--port", "none"],
      line: /^options.port should be >= 0 and < 65536/,
    },
  ])("tells in one line of $what, and ends", async ({ words, line }) => {
    const error = await fail(...words);

    expect(error).toMatch(line);
    expect(error).toMatch(/^.+\n$/);
    await expectNothingLeft();
  });
});

describe("aws-local data-api", () => {
  const select = async (variables: Record<string, string>, sql: string) => {
    const { AWS_ACCESS_KEY_ID: accessKeyId = "", AWS_SECRET_ACCESS_KEY: secretAccessKey = "" } = variables;
    const { AWS_ENDPOINT_URL_RDS_DATA: endpoint = "", AWS_REGION: region = "", ...names } = variables;
    const client = new RDSData({ endpoint, region, credentials: { accessKeyId, secretAccessKey } });
    const { DATABASE_CLUSTER_ARN: resourceArn, DATABASE_SECRET_ARN: secretArn, DATABASE_NAME: database } = names;
    return (await client.executeStatement({ resourceArn, secretArn, database, sql })).records;
  };

  it("responds with what it prints, keeps its data where it is told to, or uses another PostgreSQL", async () => {
    const first = await start("data-api", "--data", "kept");
    await select(first.variables, "create table things (name text)");
    await first.stop();

    const second = await start("data-api", "--data", "kept");
    expect(await select(second.variables, "select * from things")).toEqual([]);
    expect(await select(second.variables, "select rolsuper from pg_roles where rolname = current_user")).toEqual([
      [{ booleanValue: false }],
    ]);
    const url = await runningPostgres(join(directory, "kept/postgres"));
    const third = await start("data-api", "--database", `${url}/template1`);
    expect(await select(third.variables, "select current_database()::text as name")).toEqual([
      [{ stringValue: "template1" }],
    ]);
    await Promise.all([second.stop(), third.stop()]);

    await write("kept/postgres/PG_VERSION", "17\n");
    const error = await fail("data-api", "--data", "kept");
    expect(error).toMatch(/^PostgreSQL does not start over \S+kept\/postgres: .*version 17.*\n$/);
  });
});
