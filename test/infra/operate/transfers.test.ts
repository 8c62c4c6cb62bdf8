import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { listenToClients } from "../../../infra/aws-local/http/listen.ts";
import { invokeApi } from "../../../infra/aws-local/lambda/invoke-api.ts";
import { startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { startS3 } from "../../../infra/aws-local/test/s3.ts";
import { writeCredentials } from "../../../infra/local/credentials.ts";
import { settings } from "../../../infra/settings/settings.ts";
import { transferBucketOf } from "../../../infra/settings/transfer-bucket.ts";
import { serveApis } from "../../support/aws-apis.ts";
import { aContributor, relate } from "../../support/catalogue.ts";
import { key } from "../../support/environment.ts";
import { transferKeys } from "../../support/exports.ts";
import { runScript } from "../../support/script.ts";
import { useStack } from "../../support/stack.ts";
import { writeFunctions } from "../local/fixtures.ts";

const stack = useStack({ uploads: true });
let data: string;
let folder: string;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "colophon-data-"));
  await writeCredentials(data, key, stack.s3?.url);
});

afterAll(() => rm(data, { recursive: true }));

beforeEach(async () => {
  folder = await mkdtemp(join(data, "run-"));
  await stack.sql`truncate contributors, imports, changes restart identity cascade`;
});

const wordsOf = (words: readonly string[]) => ["--url", stack.url, "--data", data, ...words];
const run = (command: "import" | "export", words: readonly string[]) =>
  runScript(`infra/operate/${command}.ts`, wordsOf(words), { cwd: folder });

describe("npm run import", () => {
  /** A file of so many contributors. */
  async function fileOf(count: number, ...others: readonly string[]): Promise<string> {
    const lines = Array.from(
      { length: count },
      (_, number) => `{"kind":"contributor","externalId":"c${number}","first_name":"Number ${number}"}`,
    );
    const file = join(folder, "catalogue.jsonl");
    await writeFile(file, [...lines, ...others].map((line) => `${line}\n`).join(""));
    return file;
  }

  const added = async () => (await stack.sql`select from contributors`).length;

  it("imports a file, and says what came of it", async () => {
    expect(await run("import", [await fileOf(3), "--reason", "News", "--by", "ada"])).toEqual({
      code: 0,
      output: "Imported 3 lines: 3 added, 0 changed, 0 unchanged, 0 refused\n    contributor: 3 added, 0 changed\n",
      complaint: "",
    });

    expect(await added()).toBe(3);
    expect(await stack.sql`select reason, operator from changes where endpoint is not null`).toEqual([
      { reason: "News", operator: "ada" },
    ]);
    expect(await transferKeys(stack)).toEqual([expect.stringMatching(/^imports\/[0-9a-f]{64}\.jsonl$/)]);
  });

  it("ends with 1 if lines were refused, and names them so that they control no terminal", async () => {
    const line = { kind: "client", id: 1, name: "A", "x\u001b]0;title\u0007\u202e": 1 };
    const { code, output } = await run("import", [await fileOf(3, JSON.stringify(line))]);

    expect(code).toBe(1);
    expect(output).toMatch(
      /^Imported 4 lines: 3 added, 0 changed, 0 unchanged, 1 refused\n.*^4 .*\\u001b\]0;title\\u0007\\u202e +is no field/ms,
    );
    expect(output).not.toMatch(/[^\P{C}\n]/u);
    expect(await added()).toBe(3);
  });

  it("refuses a JSON array before it uploads it", async () => {
    const file = join(folder, "array.json");
    await writeFile(file, '[\n  {"kind": "client", "id": 8, "name": "A"}\n]\n');

    const before = await transferKeys(stack);

    const { code, complaint } = await run("import", [file]);

    expect([code, complaint]).toEqual([1, expect.stringMatching(/^The file is a JSON array\. .*\n$/)]);
    expect(await transferKeys(stack)).toEqual(before);
  });

  it.each(["first", "0", "1.5"])("refuses --client %s before it uploads the file", async (client) => {
    const file = await fileOf(1, client);
    const before = await transferKeys(stack);

    const { code, complaint } = await run("import", [file, "--client", client]);

    expect([code, complaint]).toEqual([1, expect.stringMatching(/^Invalid payload: client: /)]);
    expect(await transferKeys(stack)).toEqual(before);
  });

  it("stopped by Ctrl-C goes on where it was", async () => {
    const file = await fileOf(5_000);
    const stopped = spawn(process.execPath, ["infra/operate/import.ts", ...wordsOf([file])]);
    await expect.poll(added).toBeGreaterThan(0);

    stopped.kill("SIGINT");
    expect(await once(stopped, "exit")).toEqual([130, null]);

    // The function itself goes on: if it has come to the end meanwhile, nothing is left to do.
    const output = expect.stringMatching(
      /^Imported 5,000 lines: (?:5,000 added, 0 changed, 0|0 added, 0 changed, 5,000) unchanged, 0 refused\n/,
    );
    expect(await run("import", [file])).toMatchObject({ code: 0, output });
    expect(await added()).toBe(5_000);
  });
});

/** A function that imports a thousand lines at each invocation, and refuses some; it is done with three thousand. */
const importing = `
  let lines = 0;
  export const handler = async (event) => {
    tell(event);
    lines = event.dryRun ? 3_000 : lines % 3_000 + 1_000;
    const refused = Array.from({ length: 100 }, (_, index) => ({ line: index + 1, field: null, reason: "any" }));
    const counts = { lines, added: lines - 150, changed: 0, unchanged: 0, refusedCount: 150 };
    return { ...counts, kinds: {}, changedOf: {}, published: 0, refused, isDone: lines === 3_000 };
  };
`;

describe("npm run import -- --stage", () => {
  let built: Awaited<ReturnType<typeof writeFunctions>>;
  let s3: Awaited<ReturnType<typeof startS3>>;

  beforeAll(async () => {
    built = await writeFunctions({ "colophon-prod-ops/import": importing, "colophon-dev-ops/import": importing });
    const apis = await serveApis(["LAMBDA"], [invokeApi(await startLambda(built), key)]);
    const { id: account } = settings.account;
    const buckets = ["prod", "dev"].map((name) => transferBucketOf({ name }, settings.account));
    s3 = await startS3({ directory: join(data, "s3"), buckets, account, key });
    return async () => {
      await s3.close();
      await apis.close();
      await built.remove();
    };
  });

  beforeEach(() => {
    s3.requests.length = 0;
    built.forget();
  });

  /** Imports a file of three thousand lines. */
  async function importTo(stage: string, ...words: readonly string[]) {
    const file = join(folder, "catalogue.jsonl");
    await writeFile(file, "{}\n".repeat(3_000));
    const env = { AWS_ENDPOINT_URL_S3: s3.url };
    return await runScript("infra/operate/import.ts", [file, "--stage", stage, "--by", "ada", ...words], { env });
  }

  const reported = /^Imported 3,000 lines: 2,850 added, 0 changed, 0 unchanged, 150 refused\n/;

  it("asks before it changes a protected stage, and uploads nothing without agreement", async () => {
    const complaint = expect.stringMatching(/^Nothing was invoked: .*:colophon-prod-ops-import changes something/);
    expect(await importTo("prod")).toEqual({ code: 1, output: "", complaint });
    expect([...s3.requests, ...built.seen()]).toEqual([]);
  });

  it("uploads a file once, invokes the function until it is done, and says where all refused lines are", async () => {
    const command = "All of them: npm run logs -- --stage prod --function ops/import --level warn --since 1d\n";
    for (const _ of Array(2)) {
      const result = await importTo("prod", "--yes", "--reason", "News");
      expect(result).toMatchObject({ code: 1, complaint: "", output: expect.stringMatching(reported) });
      expect(result.output).toContain(command);
    }

    const [{ source }] = built.seen();
    expect(source).toMatch(/^s3:\/\/colophon-prod-transfers-[\w-]+\/imports\/[0-9a-f]{64}\.jsonl$/);
    expect(built.seen()).toEqual(Array(6).fill({ source, reason: "News", by: "ada", seconds: 10 }));
    expect(s3.requests.filter((each) => each.startsWith("PUT"))).toEqual([`PUT ${source.slice("s3:/".length)}`]);
  });

  it("asks nobody for a dry run, or on a stage that is not protected", async () => {
    expect((await importTo("prod", "--dry-run")).output).toMatch(/^Would import 3,000 lines: /);
    expect(built.seen()).toMatchObject([{ dryRun: true }]);
    expect((await importTo("dev")).output).toMatch(reported);
  });
});

describe("npm run export", () => {
  beforeEach(async () => {
    const shared = await aContributor(stack.sql, { slug: "shared", first_name: "Shared" });
    const other = await aContributor(stack.sql, { slug: "other", first_name: "Other", client_id: 2 });
    await relate(stack.sql, shared, other, "pupil");
  });

  const first = '{"kind":"client","id":1,"name":"First"}\n';
  const shared =
    '{"kind":"contributor","externalId":"slug:shared","slug":"shared","public":true,"first_name":"Shared"}\n';
  const others =
    '{"kind":"contributor","externalId":"slug:other","slug":"other","client":2,"public":true,"first_name":"Other"}\n' +
    '{"kind":"contributor-relation","from":"slug:shared","to":"slug:other","relation_type":"pupil"}\n';

  it("prints the catalogue, and what it does apart from it", async () => {
    const { code, output, complaint } = await run("export", []);

    const second = '{"kind":"client","id":2,"name":"Second"}\n';
    expect({ code, output }).toEqual({ code: 0, output: first + second + shared + others });
    expect(complaint).toMatch(/^s3:\/\/transfers\/exports\/all-.* has 5 lines, \d+ bytes$/m);
    expect(complaint).not.toContain("Skipped");
  });

  it("writes what belongs to a client to a file, and says that it is not all", async () => {
    const complaint = expect.stringContaining("Skipped: 1 reference to other clients' records");

    const result = await run("export", ["--client", "1", "--out", "first.jsonl"]);

    expect(result).toEqual({ code: 0, output: "", complaint });
    expect(await readdir(folder)).toEqual(["first.jsonl"]);
    expect(await readFile(join(folder, "first.jsonl"), "utf8")).toBe(first + shared);
  });

  it("leaves no part of a file when the download breaks off", async () => {
    const cutting = createServer((_, response) => {
      response.writeHead(200, { "content-length": 1_000 }).write(first, () => response.destroy());
    });
    const { url, close } = await listenToClients(cutting);
    const elsewhere = join(folder, "data");
    await mkdir(elsewhere);
    await writeCredentials(elsewhere, key, url);

    expect(await run("export", ["--data", elsewhere, "--out", "all.jsonl"])).toMatchObject({ code: 1 });

    await close();
    expect(await readdir(folder)).toEqual(["data"]);
  });
});

describe("npm run", () => {
  it.each([
    {
      command: "import",
      what: "a missing file",
      words: ["none.jsonl"],
      message: "There is no file or directory none.jsonl",
    },
    { command: "import", what: "a directory", words: [tmpdir()], message: "is a directory, not a file" },
    { command: "import", what: "no file", words: [], message: "error: missing required argument 'file'" },
    {
      command: "export",
      what: "an unknown client",
      words: ["--client", "9", "--out", "all.jsonl"],
      message: "There is no client 9",
    },
    {
      command: "export",
      what: "a client that is no number",
      words: ["--client", "first"],
      message: "Invalid payload: client: ",
    },
    {
      command: "export",
      what: "a directory",
      words: ["--out", tmpdir()],
      message: `${tmpdir()} is a directory, not a file\n`,
    },
    {
      command: "export",
      what: "a missing directory",
      words: ["--out", "nowhere/all.jsonl"],
      message: "There is no file or directory nowhere\n",
    },
  ] as const)("$command fails with $what, and imports and writes nothing", async ({ command, words, message }) => {
    const { code, output, complaint } = await run(command, words);

    expect({ code, output }).toEqual({ code: 1, output: "" });
    expect(complaint).toContain(message);
    expect(await stack.sql`select from imports`).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
    // It has not let the function read everything before.
    if (words[0] === "--out") expect(complaint).toBe(message);
  });
});
