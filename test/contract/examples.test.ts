import { expect, it } from "vitest";
import { collectExamples, readExamples } from "../../infra/api/openapi/examples.ts";
import { startStack } from "../support/stack.ts";

it("The examples of the OpenAPI document are those of the demo data (else run npm run openapi)", async () => {
  const stack = await startStack({ from: "demo" });

  const examples = await collectExamples(stack.url).finally(stack.close);

  expect(examples).toEqual(readExamples());
});
