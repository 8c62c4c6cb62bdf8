import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { gaps } from "../../infra/endpoint/complete.ts";
import { type Declaration, endpointPath, functionName, isNavigation } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { expectDeclared } from "../support/contract.ts";
import { eventOf } from "../support/samples.ts";
import { useStack } from "../support/stack.ts";

const root = join(import.meta.dirname, "../..");
const operators = readdirSync(join(root, "functions/ops")).map((file) => `ops/${basename(file, ".ts")}`);

const stack = useStack({ from: "demo", uploads: true });

it("Every endpoint has its function, its event and its test, and nothing waits to be filled in", () => {
  expect(gaps()).toEqual([]);
});

/** What is deleted comes last, so that others find it: images that were set, then records. */
const last = ({ method, needsFileService }: Declaration) => (method === "DELETE" ? (needsFileService ? 1 : 2) : 0);

describe.each(
  endpoints
    .filter((each) => !isNavigation(each))
    .toSorted((one, other) => last(one) - last(other))
    .map((each) => [endpointPath(each), each] as const),
)("events/%s.json", (_, declaration) => {
  it("succeeds unchanged on the demo data", async () => {
    const event = await eventOf(declaration);

    const invocation = await stack.lambda.invoke(functionName(declaration), event);

    expect(invocation).toMatchObject({ result: { statusCode: 200 } });
    const { body } = (invocation as { result: { body: string } }).result;
    expectDeclared(declaration, 200, JSON.parse(body));
    expect(event).toMatchObject({ resource: declaration.path, httpMethod: declaration.method });
  });
});

describe("events/ops", () => {
  it.each(operators)("%s.json succeeds unchanged on the demo data", async (name) => {
    const payload = JSON.parse(await readFile(join(root, `events/${name}.json`), "utf8"));

    expect(await stack.lambda.invoke(name.replaceAll("/", "-"), payload)).toHaveProperty("result");
  });
});
