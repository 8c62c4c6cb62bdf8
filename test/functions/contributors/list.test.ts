import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Stack, startStack } from "../../support/stack.ts";

let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});

afterAll(() => stack.close());

describe("GET /contributors", () => {
  it("answers 400 without a client", async () => {
    const { status, body } = await stack.call("contributors/list");

    expect(status).toBe(400);
    expect(body).toEqual({ data: "Required parameters missing", code: 400 });
  });

  it("answers 200 with nothing where there is nothing", async () => {
    const { body } = await stack.call("contributors/list", { query: { client: 1 } });

    expect(body).toEqual({ contributors: [], max: 0, from: 0, to: 0 });
  });
});
