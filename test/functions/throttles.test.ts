import { describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import type { Sql } from "../support/database.ts";
import { type Reply, useStack } from "../support/stack.ts";

/** A request retries until 5 s before this. */
const limit = 11_000;
const stack = useStack({
  limits: { environments: 1, gatewayInMilliseconds: limit },
  timeouts: { bufferedInMilliseconds: limit },
});
const administrator = useAdministrator(stack);

const add = (name: string) =>
  stack.call("admin-roles/add", { as: administrator.token, body: { name, description: "d" } });

describe("Changes that wait for an environment while another one waits for a lock", () => {
  it("are answered 503 within the time of one, and are not made later", async () => {
    const names = Array.from({ length: 6 }, (_, number) => `waiting ${number}`);

    const replies = (await stack.sql.begin(async (sql: Sql) => {
      await sql`lock table change_lock in exclusive mode`;
      return await Promise.all(names.map(add));
    })) as Reply[];

    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([503]));
    // The function has one environment, so no earlier change goes on once this one has been made.
    expect((await add("the last")).status).toBe(200);
    expect(await stack.sql`select from roles where name = any(${names})`).toEqual([]);
  });
});
