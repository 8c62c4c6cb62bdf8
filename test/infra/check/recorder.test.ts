import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { withNamedTimeouts } from "../../../infra/check/in-time.ts";
import { startRecorder } from "../../../infra/check/recorder.ts";

const reasons =
  "either the machine is busy, and npm run check passes when fewer programs run, or the function waits for something " +
  "that never happens";

let outdir: string;

/** Functions that behave as on a busy machine. */
const functions = {
  "ops/migrate": "export const handler = () => new Promise((done) => setTimeout(done, 1e9))",
  "contributors/list": `
    const send = (sql) => fetch(process.env.AWS_ENDPOINT_URL_RDS_DATA + "/Execute", {
      method: "POST",
      body: JSON.stringify({ sql, parameters: [] }),
    });
    let runs = 0;
    export const handler = async ({ slowRuns, pause }) => {
      await send("select " + ++runs);
      if (runs > slowRuns) return;
      await new Promise((done) => setTimeout(done, pause));
      await send("select 'once more'");
    };`,
};

beforeAll(async () => {
  outdir = await mkdtemp(join(tmpdir(), "colophon-recorder-"));
  for (const [path, text] of Object.entries(functions)) {
    const file = join(outdir, path, "index.mjs");
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
});

afterAll(() => rm(outdir, { recursive: true }));

async function statementsOf(path: string, event: object, limits: Parameters<typeof startRecorder>[1]) {
  const recorder = await startRecorder(outdir, limits);
  onTestFinished(recorder.close);
  return await recorder.statementsOf(path, event);
}

it("The statements of a function that was slow are those of a later run, and none that it has sent again", async () => {
  const limits = { attemptInMilliseconds: 1_000, functionInMilliseconds: 60_000 };

  const statements = await statementsOf("contributors/list", { slowRuns: 1, pause: 1_100 }, limits);

  // On a machine that stands still, a later run may have been slow, too.
  expect(statements).toEqual([{ sql: expect.stringMatching(/^select [2-5]$/), parameters: [] }]);
});

it("npm run check names the function and its time when it is slow again and again", async () => {
  const limits = { attemptInMilliseconds: 1, functionInMilliseconds: 60_000 };

  const statements = statementsOf("contributors/list", { slowRuns: Number.MAX_SAFE_INTEGER, pause: 10 }, limits);

  await expect(statements).rejects.toThrow(`contributors/list did not respond within 0.001 s: ${reasons}`);
});

it("npm run check names the function and its limit when an endpoint does not respond", async () => {
  const limits = { attemptInMilliseconds: 1_000, functionInMilliseconds: 200 };

  const statements = statementsOf("ops/migrate", {}, limits);

  await expect(statements).rejects.toThrow(`ops/migrate did not respond within 0.2 s: ${reasons}`);
});

it("npm run check names the function and its limit when an operators' function does not respond", async () => {
  const lambda = await startLambda({ outdir, settingsOf: () => ({ timeoutInMilliseconds: 200 }), print: () => {} });
  onTestFinished(lambda.close);

  const invocation = withNamedTimeouts(lambda, 200).invoke("ops-migrate", {});

  await expect(invocation).rejects.toThrow(`ops/migrate did not respond within 0.2 s: ${reasons}`);
});
