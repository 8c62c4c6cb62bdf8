import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ListObjectVersionsCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { writeCredentials } from "../../../infra/local/credentials.ts";
import { transferBucket } from "../../../infra/local/stage/functions.ts";
import { key } from "../../support/environment.ts";
import { runScript } from "../../support/script.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ uploads: true });
const script = "infra/operate/import.ts";
let data: string;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "colophon-data-"));
  await writeCredentials(data, key, stack.s3?.url);
});

afterAll(() => rm(data, { recursive: true }));

beforeEach(() => stack.sql`truncate contributors, imports, changes cascade`);

/** A file of so many contributors. */
async function fileOf(count: number, ...others: readonly string[]): Promise<string> {
  const lines = Array.from(
    { length: count },
    (_, number) => `{"kind":"contributor","externalId":"c${number}","first_name":"Number ${number}"}`,
  );
  const file = join(data, "catalogue.jsonl");
  await writeFile(file, [...lines, ...others].map((line) => `${line}\n`).join(""));
  return file;
}

const wordsOf = (words: readonly string[]) => ["--url", stack.url, "--data", data, ...words];

/** `npm run import --` with these words. */
const run = (...words: string[]) => runScript(script, words.includes("--stage") ? words : wordsOf(words));

const added = async () => {
  const [row] = await stack.sql<{ count: number }[]>`select count(*) from contributors`;
  return row?.count;
};

const uploads = async () =>
  (await new S3Client({}).send(new ListObjectVersionsCommand({ Bucket: transferBucket }))).Versions ?? [];

describe("npm run import", () => {
  it("imports a file, and says what came of it", async () => {
    const file = await fileOf(3);

    expect(await run(file, "--reason", "News", "--by", "ada")).toEqual({
      code: 0,
      output: "Imported 3 lines: 3 added, 0 changed, 0 unchanged, 0 refused\n",
      complaint: "",
    });

    expect(await added()).toBe(3);
    expect(await stack.sql`select reason, operator from changes where endpoint is not null`).toEqual([
      { reason: "News", operator: "ada" },
    ]);
    expect(await uploads()).toEqual([]);
  });

  it("uploads a long file once, whatever its bytes are", async () => {
    const file = await fileOf(2_000, "\ufeff");
    const report =
      /^Imported 2,001 lines: 2,000 added, 0 changed, 0 unchanged, 1 refused\n\n.*\nline +field +why\n2001/s;

    const first = await run(file);
    const objects = await uploads();
    const second = await run(file);

    expect(first).toMatchObject({ code: 1, output: expect.stringMatching(report) });
    expect(second).toMatchObject({ code: 1, output: expect.stringContaining("0 added, 0 changed, 2,000 unchanged") });
    expect(objects).toMatchObject([{ Key: expect.stringMatching(/^imports\/[0-9a-f]{64}\.jsonl$/) }]);
    expect(await uploads()).toEqual(objects);
  });

  it("ends with 1 if lines were refused, and names them so that they cannot control the terminal", async () => {
    const line = { kind: "client", id: 1, name: "A", "x\u001b]0;title\u0007\u202e": 1 };
    const { code, output } = await run(await fileOf(1, JSON.stringify(line)));

    expect(code).toBe(1);
    expect(output).toMatch(/^Imported 2 lines: 1 added.*^2 .*\\u001b\]0;title\\u0007\\u202e +is no field/ms);
    expect(output).not.toMatch(/[^\P{C}\n]/u);
    expect(await added()).toBe(1);
  });

  it("stopped by Ctrl-C goes on where it was", async () => {
    const file = await fileOf(5_000);
    const stopped = spawn(process.execPath, [script, ...wordsOf([file])]);
    await expect.poll(added).toBeGreaterThan(0);

    stopped.kill("SIGINT");
    expect(await once(stopped, "exit")).toEqual([130, null]);

    // The function itself goes on: if it has come to the end meanwhile, nothing is left to do.
    const { code, output } = await run(file);
    expect({ code, output }).toEqual({
      code: 0,
      output: expect.stringMatching(
        /^Imported 5,000 lines: (?:5,000 added, 0 changed, 0|0 added, 0 changed, 5,000) unchanged, 0 refused\n$/,
      ),
    });
    expect(await added()).toBe(5_000);
  }, 180_000);

  it.each([
    [["none.jsonl"], "There is no file or directory none.jsonl"],
    [[tmpdir()], "is a directory, not a file"],
    [[], "An argument is missing"],
    [["none.jsonl", "--stage", "prod", "--url", "http://localhost"], "--url and --data are for the local service"],
    [["none.jsonl", "--stage", "nowhere"], "There is no stage nowhere"],
  ])("fails with %j, and imports nothing", async (words, message) => {
    expect(await run(...words)).toMatchObject({ code: 1, complaint: expect.stringContaining(message) });
    expect(await added()).toBe(0);
  });
});
