import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import usersEvent from "../../events/admin-users/list.json" with { type: "json" };
import contributorsEvent from "../../events/contributors/list.json" with { type: "json" };
import { useAdministrator } from "../support/callers.ts";
import { addLongContributors } from "../support/catalogue.ts";
import { aUser } from "../support/people.ts";
import { aRole, give } from "../support/records.ts";
import { useStack } from "../support/stack.ts";

const contributors = 6_000;
/** What one answer of the Data API has no room for, so that it is read in a transaction. */
const rolesOfUser = 25;
const longest = "漢".repeat(20_000);

const stack = useStack();
const administrator = useAdministrator(stack);

beforeAll(async () => {
  await addLongContributors(stack.sql, contributors);
  const roles = await Promise.all(Array.from({ length: rolesOfUser }, () => aRole(stack.sql)));
  await stack.sql`update roles set description = ${longest} where id = any(${roles.map(({ id }) => id)})`;
  for (let users = 0; users < 4; users += 1) await give(stack.sql, await aUser(stack.sql), ...roles);
});

beforeEach(() => {
  stack.dataApi.calls.length = 0;
});

/** A whole list, of which nothing has been read yet; to whoever reads at the function itself no buffer lies between. */
async function begin(name: string, event: object, headers: Readonly<Record<string, string>>): Promise<Readable> {
  const whole = { ...event, headers, queryStringParameters: { client: "1" } };
  const invocation = await stack.lambda.stream(name, whole);
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  return invocation.body;
}

/** The number of calls once there are no more of them. */
async function settled(): Promise<number> {
  let before: number;
  do {
    before = stack.dataApi.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 300));
  } while (stack.dataApi.calls.length > before);
  return before;
}

/** What sessions hold: a transaction that is under way, or a lock. */
const held = () => stack.sql`
  select pid, state, query from pg_stat_activity
  where
    datname = current_database() and pid <> pg_backend_pid()
    -- Autovacuum has no role.
    and usename is not null
    and (state <> 'idle' or exists (select from pg_locks where pg_locks.pid = pg_stat_activity.pid))
`;

describe("A client that reads a list slowly", () => {
  it.each(["identity", "gzip"])("keeps no transaction or lock in the database, as %s", async (encoding) => {
    const body = await begin("contributors-list", contributorsEvent, { "Accept-Encoding": encoding });
    const callsBefore = await settled();

    expect(await held()).toEqual([]);

    const content = await buffer(body);
    const text = encoding === "gzip" ? gunzipSync(content).toString() : content.toString();
    expect(JSON.parse(text)).toMatchObject({ max: contributors, to: contributors });
    expect(stack.dataApi.calls.length).toBeGreaterThan(callsBefore);
  });

  it("gets the first byte after the transaction has ended", async () => {
    const headers = { Cookie: `refreshToken=${administrator.token}` };
    const body = await begin("admin-users-list", usersEvent, headers);
    const count = (name: string) => stack.dataApi.calls.filter(({ operation }) => operation === name).length;
    await expect.poll(() => count("CommitTransaction")).toBeGreaterThan(0);
    const callsBefore = await settled();

    expect(await held()).toEqual([]);

    expect(JSON.parse((await buffer(body)).toString())).toMatchObject({ max: 5, to: 5 });
    expect(stack.dataApi.calls.length).toBeGreaterThan(callsBefore);
  });
});
