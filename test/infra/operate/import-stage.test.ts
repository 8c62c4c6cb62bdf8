import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { invokeApi } from "../../../infra/aws-local/lambda/invoke-api.ts";
import { startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { type S3, startS3 } from "../../../infra/aws-local/test/s3.ts";
import { transferBucketOf } from "../../../infra/settings/transfer-bucket.ts";
import { settings } from "../../../infra/stages.ts";
import { serveApis } from "../../support/aws-apis.ts";
import { key } from "../../support/environment.ts";
import { runScript, type ScriptOptions } from "../../support/script.ts";
import { writeFunctions } from "../local/fixtures.ts";

const bucket = transferBucketOf({ name: "prod" }, settings.account);

/** A function that imports a thousand lines at each invocation, and refuses some; it is done with three thousand. */
const importing = `
  let lines = 0;
  export const handler = async (event) => {
    tell(event);
    lines = event.dryRun ? 3_000 : lines % 3_000 + 1_000;
    const refused = Array.from({ length: 100 }, (_, index) => ({ line: index + 1, field: null, reason: "any" }));
    return { lines, added: lines - 150, changed: 0, unchanged: 0, refusedCount: 150, refused, isDone: lines === 3_000 };
  };
`;

let built: Awaited<ReturnType<typeof writeFunctions>>;
let apis: Awaited<ReturnType<typeof serveApis>>;
let s3: S3;
let directory: string;

beforeAll(async () => {
  built = await writeFunctions({ "colophon-prod-ops/import": importing, "colophon-dev-ops/import": importing });
  apis = await serveApis(["LAMBDA"], [invokeApi(await startLambda(built), key)]);
  directory = await mkdtemp(join(tmpdir(), "colophon-import-"));
  s3 = await startS3({
    directory: join(directory, "s3"),
    buckets: [bucket],
    account: settings.account.id,
    key,
  });
});

afterAll(async () => {
  await s3.close();
  await apis.close();
  await built.remove();
  await rm(directory, { recursive: true });
});

beforeEach(() => {
  s3.requests.length = 0;
  built.forget();
});

/** A file of three thousand lines. */
async function fileOf(line: string): Promise<string> {
  const file = join(directory, "catalogue.jsonl");
  await writeFile(file, `${line}\n`.repeat(3_000));
  return file;
}

const short = "{}";
const long = JSON.stringify({ kind: "contributor", externalId: "a-long-one", first_name: "A long one" });

/** `npm run import --` with these words. */
const run = (words: readonly string[], options: ScriptOptions = {}) =>
  runScript("infra/operate/import.ts", words, { env: { AWS_ENDPOINT_URL_S3: s3.url }, ...options });

const uploadsOf = () => s3.requests.filter((each) => each.startsWith("PUT"));

const reported = /^Imported 3,000 lines: 2,850 added, 0 changed, 0 unchanged, 150 refused\n/;

describe("npm run import -- --stage", () => {
  it("asks before it changes a protected stage, and uploads nothing without agreement", async () => {
    const result = await run([await fileOf(long), "--stage", "prod", "--by", "ada"]);

    const complaint = expect.stringMatching(/^Nothing was invoked: .*:colophon-prod-ops-import changes something/);
    expect(result).toEqual({ code: 1, output: "", complaint });
    expect([...s3.requests, ...built.seen()]).toEqual([]);
  });

  it("uploads a file once, invokes the function until it is done, and says where all refused lines are", async () => {
    const file = await fileOf(long);
    const words = [file, "--stage", "prod", "--yes", "--by", "ada", "--reason", "News"];
    const first = await run(words);
    const uploads = uploadsOf();
    const second = await run(words);

    const command = "All of them: npm run logs -- --stage prod --function ops/import --level warn --since 1d\n";
    for (const each of [first, second]) {
      expect(each).toMatchObject({ code: 1, complaint: "", output: expect.stringMatching(reported) });
      expect(each.output).toContain(command);
    }
    const [{ source }] = built.seen();
    expect(source).toMatch(/^s3:\/\/colophon-prod-transfers-[\w-]+\/imports\/[0-9a-f]{64}\.jsonl$/);
    expect(built.seen()).toEqual(Array(6).fill({ source, reason: "News", by: "ada", seconds: 10 }));
    expect(uploads).toEqual([`PUT ${source.slice("s3:/".length)}`]);
    expect(uploadsOf()).toEqual(uploads);
  });

  it("sends a short file as it is, and asks nobody for a dry run, or on a stage that is not protected", async () => {
    const file = await fileOf(short);
    const source = "{}\n".repeat(3_000);

    expect((await run([file, "--stage", "prod", "--dry-run"])).output).toMatch(/^Would import 3,000 lines: /);
    expect(built.seen()).toEqual([{ source, dryRun: true }]);
    expect((await run([file, "--stage", "dev"])).output).toMatch(reported);
    expect(s3.requests).toEqual([]);
  });
});

describe.skipIf(spawnSync("python3", ["--version"]).status !== 0)("npm run import at a terminal", () => {
  /** Runs a program at a terminal of its own, into which it types what comes to it. */
  const terminal = ["python3", "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"];

  it("asks, and shows a bar", async () => {
    const file = await fileOf(short);
    const { code, output } = await run([file, "--stage", "prod"], { by: terminal, typed: "y\n" });

    expect(code).toBe(1);
    for (const part of [
      "colophon-prod-ops-import is protected. Invoke it with {",
      '"lines":3000',
      "[##########....................] 1,000 of 3,000 lines",
      "[####################..........] 2,000 of 3,000 lines",
      "\r\u001b[KImported 3,000 lines: ",
    ])
      expect(output).toContain(part);
  });
});
