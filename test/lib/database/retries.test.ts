import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Fault } from "../../../infra/local/data-api/server.ts";
import { addClients } from "../../support/catalogue.ts";
import { envelope } from "../../support/envelope.ts";
import { anAdministrator } from "../../support/people.ts";
import { type Stack, startStack } from "../../support/stack.ts";

let stack: Stack;
let token: string;

const resuming: Fault = {
  kind: "error",
  status: 400,
  type: "DatabaseResumingException",
  message: "The Aurora DB instance db-X is resuming after being auto-paused. Please wait a few seconds and try again.",
};
const faults: [string, Fault][] = [
  ["500", { kind: "error", status: 500, type: "InternalServerErrorException" }],
  ["503", { kind: "error", status: 503, type: "ServiceUnavailableError" }],
  ["504", { kind: "error", status: 504, type: "DatabaseUnavailableException" }],
  ["500 after it ran", { kind: "error-after", status: 500, type: "InternalServerErrorException" }],
  ["a broken connection", { kind: "drop-before" }],
  ["a connection broken after it ran", { kind: "drop-after" }],
];

/** Lets the first calls fail and the others pass. */
function failing(fault: Fault, times: number): void {
  stack.dataApi.calls.length = 0;
  stack.dataApi.intercept(({ number }) => (number <= times ? fault : undefined));
}

const read = () => stack.call("contributors/list", { query: { client: 1 } });
let additions = 0;
const write = () =>
  stack.call("admin-roles/add", { as: token, body: { name: `Added ${++additions}`, description: "By a test" } });
const written = async () => (await stack.sql`select from roles where name = ${`Added ${additions}`}`).length;

beforeAll(async () => {
  stack = await startStack();
  await addClients(stack.sql);
  token = (await anAdministrator(stack.sql)).token;
});

afterEach(() => stack.dataApi.intercept(undefined));

afterAll(() => stack.close());

describe("A statement", () => {
  it.each(faults)("that reads is sent again after %s", async (_, fault) => {
    failing(fault, 2);

    expect((await read()).status).toBe(200);
    expect(stack.dataApi.calls.length).toBe(3);
  });

  it.each(faults)("that reads is given up after three times %s", async (_, fault) => {
    failing(fault, 9);

    expect((await read()).body).toEqual(envelope(500, "Internal server error"));
    expect(stack.dataApi.calls.length).toBe(3);
  });

  it.each(faults)("that writes is never sent twice after %s", async (_, fault) => {
    failing(fault, 1);

    expect((await write()).body).toEqual(envelope(500, "Internal server error"));
    expect(stack.dataApi.calls.length).toBe(1);
    expect(await written()).toBe(fault.kind.endsWith("after") ? 1 : 0);
  });

  it.each([
    ["reads", read],
    ["writes", write],
  ])("that %s waits while the cluster resumes or throttles", async (_, call) => {
    failing(resuming, 3);
    expect((await call()).status).toBe(200);

    failing({ kind: "error", status: 400, type: "ThrottlingException", message: "Rate exceeded" }, 2);
    expect((await call()).status).toBe(200);
  });

  it("is answered 503 with Retry-After when the cluster has not resumed after 20 seconds", async () => {
    failing(resuming, 1_000);
    const start = Date.now();

    const { body, headers } = await write();

    expect(body).toEqual(envelope(503, "Service unavailable, try again in a few seconds"));
    expect(headers.get("retry-after")).toBe("5");
    expect(Date.now() - start).toBeLessThan(22_000);
    expect(await written()).toBe(0);
  });

  it("that was rolled back to solve a deadlock is sent again", async () => {
    failing(
      {
        kind: "error",
        status: 400,
        type: "DatabaseErrorException",
        message: "ERROR: deadlock detected; SQLState: 40P01",
      },
      1,
    );

    expect((await write()).status).toBe(200);
    expect(await written()).toBe(1);
  });
});
