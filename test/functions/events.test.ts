import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Declaration, functionName, stem } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { expectDeclared } from "../support/contract.ts";
import { type Stack, startStack } from "../support/stack.ts";

const root = join(import.meta.dirname, "../..");
const stemsIn = async (folder: string, extension: string) =>
  (await readdir(join(root, folder), { recursive: true }))
    .filter((file) => file.endsWith(extension))
    .map((file) => file.slice(0, -extension.length).replaceAll("\\", "/"))
    .sort();

const functions = await stemsIn("functions", ".ts");
const served = endpoints.map(stem).sort();

let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ from: "demo", uploads: true });
});

afterAll(() => stack.close());

describe("The tree", () => {
  it("has a function for each declaration, and no other but operators' ones", () => {
    expect(functions.filter((each) => !each.startsWith("ops/"))).toEqual(served);
  });

  it("has a sample event for each function", async () => {
    expect(await stemsIn("events", ".json")).toEqual(functions);
  });

  it("has a test for each endpoint", async () => {
    const tested = await stemsIn("test/functions", ".test.ts");
    expect(served.filter((each) => !tested.includes(each))).toEqual([]);
  });
});

/** What is deleted comes last, so that others find it: images that were set, then records. */
const last = ({ method, files }: Declaration) => (method === "DELETE" ? (files ? 1 : 2) : 0);

describe.each(endpoints.toSorted((one, other) => last(one) - last(other)).map((each) => [stem(each), each] as const))(
  "events/%s.json",
  (name, declaration) => {
    it("succeeds unchanged on the demo data", async () => {
      const event = JSON.parse(await readFile(join(root, `events/${name}.json`), "utf8"));

      const invocation = await stack.lambda.invoke(functionName(declaration), event);

      expect(invocation).toMatchObject({ result: { statusCode: 200 } });
      const { body } = (invocation as { result: { body: string } }).result;
      expectDeclared(declaration, 200, JSON.parse(body));
      expect(event).toMatchObject({ resource: declaration.path, httpMethod: declaration.method });
    });
  },
);

describe("events/ops", () => {
  it.each(functions.filter((each) => each.startsWith("ops/")))(
    "%s.json succeeds unchanged on the demo data",
    async (name) => {
      const payload = JSON.parse(await readFile(join(root, `events/${name}.json`), "utf8"));

      expect(await stack.lambda.invoke(name.replaceAll("/", "-"), payload)).toHaveProperty("result");
    },
  );
});
