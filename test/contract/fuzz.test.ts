import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anAdministrator, aUser } from "../support/people.ts";
import { type Stack, startStack } from "../support/stack.ts";
import { requestsTo, send, type Values } from "./arbitrary-requests.ts";
import { misfitOf, type Operation, operations } from "./operations.ts";

/*
 * Requests that the OpenAPI document calls valid, and the answers checked against the document alone. .ci/fuzz asks for
 * what it forbids as well; schemathesis.toml gives the reasons for the exceptions here.
 */

const runs = Number(process.env.COLOPHON_FUZZ_RUNS ?? 12);
const images = ["deleteAvatar", "deleteUserImage", "updateAvatar", "updateUserImage"];
/** The Administrator role, and the last who has it, stay whoever asks. */
const protective = ["deleteRole", "deleteUser", "editRole", "editUser"];
const choosy = ["addContributor", "editContributor", "editRole", "editUser", "updateAvatar", "updateUserImage"];

const named = (all: readonly Operation[]) => all.map((each) => [each.operationId, each] as const);
const guarded = operations.filter(({ security }) => security.length > 0);

let stack: Stack;
let administrator: string;

beforeAll(async () => {
  stack = await startStack({ from: "demo", uploads: true });
  administrator = await anotherAdministrator();
});

afterAll(() => stack.close());

/** Somebody with the permissions and the role that requests may have deleted. */
async function anotherAdministrator(): Promise<string> {
  await stack.lambda.invoke("ops-migrate", {});
  return (await anAdministrator(stack.sql)).token;
}

async function sendAsAdministrator(operation: Operation, values: Values) {
  const answer = await send(stack.url, operation, values, administrator);
  if (answer.status !== 401 && answer.status !== 403) return answer;
  administrator = await anotherAdministrator();
  return await send(stack.url, operation, values, administrator);
}

describe.each(named(operations))("Valid requests to %s", (name, operation) => {
  it("are answered as documented", async () => {
    const refusals = [401, ...(protective.includes(name) ? [] : [403]), ...(choosy.includes(name) ? [] : [400])];
    await fc.assert(
      fc.asyncProperty(requestsTo(operation), async (values) => {
        const answer = await sendAsAdministrator(operation, values);

        expect(misfitOf(operation, answer)).toBeUndefined();
        expect(refusals).not.toContain(answer.status);
        expect(answer.status).toBeLessThan(images.includes(name) ? 501 : 500);
      }),
      { numRuns: runs },
    );
  });
});

describe.each(named(guarded))("Valid requests to %s by other callers", (name, operation) => {
  it("are answered 403 without the permission, and 401 without a session", async () => {
    const { token } = await aUser(stack.sql);
    await fc.assert(
      fc.asyncProperty(requestsTo(operation), async (values) => {
        const answer = await send(stack.url, operation, values, token);

        // What cannot be read is refused before anybody asks who sent it.
        if (choosy.includes(name) && answer.status === 400) expect(misfitOf(operation, answer)).toBeUndefined();
        else expect(answer).toEqual({ status: 403, body: { data: "Forbidden", code: 403 } });
        expect(await send(stack.url, operation, values)).toEqual({
          status: 401,
          body: { data: "Unauthorized", code: 401 },
        });
      }),
      { numRuns: Math.ceil(runs / 3) },
    );
  });
});
