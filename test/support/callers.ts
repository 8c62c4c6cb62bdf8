import { beforeAll } from "vitest";
import type { Permission } from "../../lib/contract/permissions.ts";
import { anAdministrator, holderOf, type Person } from "./people.ts";
import type { Reply, Request, Stack } from "./stack.ts";

/** A logged-in user for all tests of a file; exists from its first test on. */
export interface Caller extends Person {
  /** Calls an endpoint with the user's token. */
  call(name: string, request?: Request): Promise<Reply>;
}

/** A caller who holds exactly these permissions. */
export const useHolder = (stack: Stack, ...permissions: readonly Permission[]): Caller =>
  useCaller(stack, () => holderOf(stack.sql, ...permissions));

/** A caller who holds every permission. */
export const useAdministrator = (stack: Stack): Caller => useCaller(stack, () => anAdministrator(stack.sql));

function useCaller(stack: Stack, make: () => Promise<Person>): Caller {
  const call: Caller["call"] = (name, request) => stack.call(name, { as: caller.token, ...request });
  const caller = { call } as Caller;
  beforeAll(async () => void Object.assign(caller, await make()));
  return caller;
}
