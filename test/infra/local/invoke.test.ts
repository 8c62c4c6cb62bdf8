import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApiGateway, startApiGateway } from "../../../infra/aws-local/api-gateway/server.ts";
import { invokeApi } from "../../../infra/aws-local/lambda/invoke-api.ts";
import { startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { restApi } from "../../../infra/aws-local/test/rest-api.ts";
import { writeCredentials } from "../../../infra/local/credentials.ts";
import { key } from "../../support/environment.ts";
import { echo, writeFunctions } from "./fixtures.ts";

const script = join(import.meta.dirname, "../../../infra/local/invoke.ts");
let built: Awaited<ReturnType<typeof writeFunctions>>;
let gateway: ApiGateway;

beforeAll(async () => {
  built = await writeFunctions({
    "admin-roles/list": echo,
    "ops/echo": "export const handler = async (event) => event;",
    "ops/fail": "export const handler = async () => { throw new RangeError('too far'); };",
  });
  const lambda = await startLambda(built);
  gateway = await startApiGateway({ document: restApi({}), lambda, pages: [invokeApi(lambda, key)] });
  await writeCredentials(built.outdir, key);
  await writeFile(join(built.outdir, "payload.json"), '{"days":3}');
});

afterAll(async () => {
  await gateway.close();
  await built.remove();
});

/** `npm run invoke --` with these words. */
function invoke(...words: string[]): Promise<{ code: number; output: string; complaint: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [script, "--url", gateway.url, "--data", built.outdir, ...words],
      (error, output, complaint) => {
        resolve({ code: Number(error?.code ?? 0), output, complaint });
      },
    );
  });
}

const payload = () => join(built.outdir, "payload.json");

describe("npm run invoke", () => {
  it("sends a payload and prints the result", async () => {
    const { code, output } = await invoke("ops-echo", payload());

    expect({ code, output }).toEqual({ code: 0, output: '{\n  "days": 3\n}\n' });
  });

  it.each(["admin-roles-list", "admin-roles/list"])(
    "sends the sample payload of %s, and unfolds the body",
    async (name) => {
      const { code, output } = await invoke(name);

      expect(code).toBe(0);
      expect(JSON.parse(output)).toMatchObject({ statusCode: 200, body: { resource: "/admin-roles" } });
    },
  );

  it("fails when the function does", async () => {
    const { code, output } = await invoke("ops-fail", payload());

    expect(code).toBe(1);
    expect(JSON.parse(output)).toMatchObject({ errorType: "RangeError", errorMessage: "too far" });
  });

  it("fails when there is no such function", async () => {
    const { code, output } = await invoke("ops-nothing", payload());

    expect(code).toBe(1);
    expect(output).toContain("Function not found: ops-nothing");
  });

  it.each([
    [[], "npm run invoke -- NAME"],
    [["ops-nothing"], "There is no sample payload for ops-nothing"],
    [["ops-echo", "nowhere.json"], "nowhere.json"],
    [["admin-roles/list", "--data", "nowhere"], "There are no credentials in nowhere: is npm start running?"],
    [["ops-echo", "--what"], "Unknown flag --what"],
    [["admin-roles/list", "--url", "http://127.0.0.1:9"], "Nothing answers on http://127.0.0.1:9"],
  ])("explains itself in a line or two: %j", async (words, reason) => {
    const { code, complaint } = await invoke(...words);

    expect(code).toBe(1);
    expect(complaint).toContain(reason);
    expect(complaint).not.toContain("    at ");
  });
});
