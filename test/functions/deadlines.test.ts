import { createHash, randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { untilBlocked } from "../support/blocked.ts";
import { useAdministrator } from "../support/callers.ts";
import { identifier, type Sql } from "../support/database.ts";
import { envelope, forbidden, unauthorized } from "../support/envelope.ts";
import { holderOf } from "../support/people.ts";
import { type Reply, useStack } from "../support/stack.ts";

const notDone = envelope(503, "Service unavailable, nothing was changed");
const unknown = envelope(503, "Service unavailable, try again in a few seconds");
const conflict = envelope(409, "Role with the same name already exists");

/** A request retries until 5 s before its function's time-out. */
const limit = 11_000;
const environments = 6;
const stack = useStack({
  limits: { environments, gatewayInMilliseconds: limit },
  timeouts: { bufferedInMilliseconds: limit, longInMilliseconds: limit },
});
const administrator = useAdministrator(stack);

const name = () => `late-${randomUUID()}`;
const add = (role: string, as = administrator.token) =>
  stack.call("admin-roles/add", { as, body: { name: role, description: "d" } });
/** Without the checks of `stack.call`, which expects headers of a function. */
async function post(role: string) {
  const headers = { Cookie: `refreshToken=${administrator.token}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ name: role, description: "d" });
  const response = await fetch(`${stack.url}/admin-roles/add`, { method: "POST", headers, body });
  return { status: response.status, retryAfter: response.headers.get("Retry-After"), body: await response.json() };
}
const countOf = async (...roles: string[]) => (await stack.sql`select from roles where name = any(${roles})`).length;
const bodies = (replies: readonly Pick<Reply, "body">[]) => replies.map(({ body }) => body);

/** Holds the lock of all changes until the work is done. */
const whileLocked = <Result>(work: () => Promise<Result>) =>
  stack.sql.begin(async (sql: Sql) => {
    await sql`lock table change_lock in exclusive mode`;
    return await work();
  }) as Promise<Result>;

/** The statements of functions that run. */
const running = () => stack.sql`
  select query from pg_stat_activity
  where application_name = 'data-api' and datname = current_database() and state <> 'idle'
`;

/** Lets the first call break, and run when `release` is called; `ran` is fulfilled afterwards. */
function delayFirstCall() {
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  const { promise: ran, resolve: done } = Promise.withResolvers<unknown>();
  let calls = 0;
  stack.dataApi.intercept(() => (calls++ === 0 ? { kind: "late", until, done } : undefined));
  return { release, ran };
}

describe("Changes that wait for a lock past their deadline, some of them for an environment of their function first,", () => {
  it("return 503 with Retry-After, and are not done afterwards", async () => {
    const roles = Array.from({ length: 3 * environments }, name);

    const replies = await whileLocked(() => Promise.all(roles.map(post)));
    await expect.poll(running).toEqual([]);

    expect(replies.map(({ status }) => status)).toEqual(roles.map(() => 503));
    // On a machine that stands still, an attempt may end before it hears that it did not get the lock, or API Gateway
    // responds instead of a function that gets no environment.
    for (const { body } of replies) expect([notDone, unknown]).toContainEqual(body);
    expect(bodies(replies)).toContainEqual(notDone);
    expect(new Set(replies.map(({ retryAfter }) => retryAfter))).toEqual(new Set(["5"]));
    expect(await countOf(...roles)).toBe(0);
    expect(bodies(await Promise.all(roles.map((role) => add(role))))).toEqual(
      roles.map(() => envelope(200, "Role added")),
    );
  });

  it("let nobody wait who has no session, or not the permission", async () => {
    const stranger = await holderOf(stack.sql, "view-roles");

    const replies = await whileLocked(() => Promise.all([add(name(), "junk"), add(name(), stranger.token)]));

    expect(bodies(replies)).toEqual([unauthorized, forbidden]);
  });

  it("return 403 when the permission is taken while they wait", async () => {
    const editor = await holderOf(stack.sql, "add-roles");
    const role = name();

    const reply = await whileLocked(async () => {
      const waiting = add(role, editor.token);
      await untilBlocked(stack.sql);
      await stack.sql`delete from user_roles where user_id = ${editor.id}`;
      return { waiting };
    });

    expect((await reply.waiting).body).toEqual(forbidden);
    expect(await countOf(role)).toBe(0);
  });
});

it("A change by a function whose clock has been set a year ahead is made", async () => {
  const [{ schema = "" } = {}] = await stack.sql<{ schema: string }[]>`select schema from releases`;
  const nextYear = new Date(Date.now() + 366 * 24 * 3_600_000);
  const request = {
    key: randomUUID(),
    id: "by-hand",
    endpoint: "admin-roles/add",
    digest: createHash("sha256").update(administrator.token).digest("hex"),
    permission: "add-roles",
    input: { name: name(), description: "d" },
    begin_by: nextYear,
    wait_until: nextYear,
  };

  const outcomes = await stack.sql`
    select status from ${identifier(schema)}.make_change('add_role', ${JSON.stringify(request)}::text::json)
  `;

  expect(outcomes).toEqual([{ status: 200 }]);
});

describe("An attempt whose connection breaks", () => {
  it("is not done when it arrives after the request was answered 409", async () => {
    const role = name();
    await add(role);
    const { release, ran } = delayFirstCall();

    expect((await add(role)).body).toEqual(conflict);
    await stack.sql`delete from roles where name = ${role}`;
    release();
    await ran;

    expect(await countOf(role)).toBe(0);
  });

  it("is not done when it arrives after the request was answered 403", async () => {
    const [editor, role] = [await holderOf(stack.sql, "add-roles"), name()];
    const rights = await stack.sql`delete from user_roles where user_id = ${editor.id} returning role_id`;
    const { release, ran } = delayFirstCall();

    expect((await add(role, editor.token)).body).toEqual(forbidden);
    for (const { role_id } of rights)
      await stack.sql`insert into user_roles (user_id, role_id) values (${editor.id}, ${role_id}) on conflict do nothing`;
    release();
    await ran;

    expect(await countOf(role)).toBe(0);
  });

  it("is done once, and answered 200, when it arrives before the second one", async () => {
    const role = name();
    const { release } = delayFirstCall();
    release();

    expect((await add(role)).body).toEqual(envelope(200, "Role added"));
    expect(await countOf(role)).toBe(1);
  });
});

it("A change whose outcome stays unknown returns 503 and does not say that nothing was changed", async () => {
  const role = name();
  stack.dataApi.intercept(() => ({ kind: "drop-after" }));

  const { body, headers } = await add(role);

  expect(body).toEqual(unknown);
  expect(headers.get("Retry-After")).toBe("5");
  expect(await countOf(role)).toBe(1);
});
