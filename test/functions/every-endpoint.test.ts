import { beforeAll, describe, expect, it } from "vitest";
import { endpointPath } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { useAdministrator } from "../support/callers.ts";
import { useUploads } from "../support/uploads.ts";
import { testArbitrary } from "./every-endpoint/arbitrary.ts";
import { testAuthority } from "./every-endpoint/authority.ts";
import { testBadInput } from "./every-endpoint/bad-input.ts";
import { testChanges } from "./every-endpoint/changes.ts";
import { sessionsMax, testReading } from "./every-endpoint/reading.ts";

/* What all endpoints do alike, sent to each of them, so that their functions are loaded once. */

const stack = useUploads({ from: "demo", limits: { environments: sessionsMax } });
const administrator = useAdministrator(stack);
const seen = new Set<string>();

beforeAll(() => {
  const { call } = stack;
  stack.call = async (name, request) => {
    const reply = await call(name, request);
    seen.add(`${name} ${reply.status}`);
    return reply;
  };
});

describe("Authority", () => testAuthority(stack));
describe("Bad input", () => testBadInput(stack, administrator));
describe("Changes", () => testChanges(stack, administrator));
describe("Reading", () => testReading(stack, administrator));

it("Every error that is declared has been returned, but for those that take more: they have tests of their own", () => {
  const declared = endpoints
    .filter(({ needsSignIn }) => !needsSignIn)
    .flatMap((each) => Object.keys(each.errors).map((status) => `${endpointPath(each)} ${status}`));

  expect(declared.filter((each) => !seen.has(each))).toEqual([
    "contributor/random 404",
    "publisher/random 404",
    "admin-users/update-image 503",
    "admin-users/delete-image 503",
    "admin-roles/delete 405",
    "admin-contributors/update-avatar 503",
    "admin-contributors/delete-avatar 503",
    "series/random 404",
  ]);
});

// Last, since they may delete anything.
describe("Arbitrary requests", () => testArbitrary(stack));
