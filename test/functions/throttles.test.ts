import { expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import type { Sql } from "../support/database.ts";
import { useStack } from "../support/stack.ts";

/** A request retries until 5 s before this. */
const limit = 11_000;
const stack = useStack({
  limits: { environments: 1, gatewayInMilliseconds: limit },
  timeouts: { bufferedInMilliseconds: limit },
});
const administrator = useAdministrator(stack);

const add = async (name: string) => {
  const headers = { Cookie: `refreshToken=${administrator.token}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ name, description: "d" });
  return (await fetch(`${stack.url}/admin-roles/add`, { method: "POST", headers, body })).status;
};

it("Changes that wait for an environment while another one waits for a lock are answered 503 within the time of one, and are not made later", async () => {
  const names = Array.from({ length: 6 }, (_, number) => `waiting ${number}`);

  const statuses = await stack.sql.begin(async (sql: Sql) => {
    await sql`lock table change_lock in exclusive mode`;
    return await Promise.all(names.map(add));
  });

  expect(statuses).toEqual(names.map(() => 503));
  // The function has one environment, so no earlier change goes on once this one has been made.
  expect(await add("the last")).toBe(200);
  expect(await stack.sql`select from roles where name = any(${names})`).toEqual([]);
});
