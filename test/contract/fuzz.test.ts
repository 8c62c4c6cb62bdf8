import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { anAdministrator, aUser } from "../support/people.ts";
import { useStack } from "../support/stack.ts";
import { requestsTo, send, type Values } from "./arbitrary-requests.ts";
import { mismatchOf, type Operation, operations } from "./operations.ts";

/*
 * Sends requests that are valid by the OpenAPI document, and checks the answers against the document only. .ci/fuzz
 * also sends invalid requests. schemathesis.toml has the reasons for the exceptions here.
 */

const runs = Number(process.env.COLOPHON_FUZZ_RUNS ?? 12);
const images = ["deleteAvatar", "deleteUserImage", "updateAvatar", "updateUserImage"];
/** These answer 403 even to administrators, to protect the Administrator role and its last holder. */
const mayForbid = ["deleteRole", "deleteUser", "editRole", "editUser"];
const mayReject = ["addContributor", "editContributor", "editRole", "editUser", "updateAvatar", "updateUserImage"];

const named = (all: readonly Operation[]) => all.map((each) => [each.operationId, each] as const);
const guarded = operations.filter((each) => each["x-permission"]);

const stack = useStack({ from: "demo", uploads: true, signIn: [] });
let administrator: string;

beforeAll(async () => {
  administrator = await anotherAdministrator();
});

/** Creates an administrator. `ops-migrate` restores the permissions and the role, which a request may have deleted. */
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

/** Browsers go to the others, whose errors are pages (test/lib/sign-in). */
const called = operations.filter(({ responses }) => "200" in responses);

describe.each(named(called))("Valid requests to %s", (name, operation) => {
  it("are answered as documented", async () => {
    const refusals = [401, ...(mayForbid.includes(name) ? [] : [403]), ...(mayReject.includes(name) ? [] : [400])];
    await fc.assert(
      fc.asyncProperty(requestsTo(operation), async (values) => {
        const answer = await sendAsAdministrator(operation, values);

        expect(mismatchOf(operation, answer)).toBeUndefined();
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

        // Functions validate the body before they check the permission.
        if (mayReject.includes(name) && answer.status === 400) expect(mismatchOf(operation, answer)).toBeUndefined();
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
