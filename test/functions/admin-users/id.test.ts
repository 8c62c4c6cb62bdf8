import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { envelope } from "../../support/envelope.ts";
import { imageBaseUrl } from "../../support/environment.ts";
import { anAdministrator, aSession, aUser, holderOf } from "../../support/people.ts";
import { aRole, give, lock, lockHolderOf } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const stack = useStack();
const viewer = useHolder(stack, "view-users");
const editor = useHolder(stack, "view-users", "edit-users");

const show = (id: number | string, as?: string, query: Readonly<Record<string, string>> = {}) =>
  stack.call("admin-users/id", { as, path: { id }, query });
const missing = envelope(404, "User not found");
const minutesLeft = async (user: { id: number }): Promise<number> =>
  (
    await stack.sql`
      select round(extract(epoch from expires_at - now()) / 60)::int as minutes
      from user_locks
      where user_id = ${user.id}
    `
  )[0]?.minutes;

describe("GET /admin-users/id/{id}", () => {
  it("answers 200 with the user", async () => {
    const user = await aUser(stack.sql, "Ada Whole");
    const role = await aRole(stack.sql, "view-roles");
    await stack.sql`update roles set description = null where id = ${role.id}`;
    await give(stack.sql, user, role);
    await stack.sql`
      update users
      set age_verified = true, image = 'users/ada.webp', registered = '2026-11-20 12:15:00.5+02'
      where id = ${user.id}
    `;

    const { body } = await show(user.id, viewer.token);

    expect(body).toEqual({
      id: user.id,
      slug: "ada-whole",
      username: "Ada Whole",
      profile_image: `${imageBaseUrl}/users/ada.webp`,
      registered: "2026-11-20T10:15:00.500Z",
      age_verified: true,
      logged_in: true,
      roles: [{ id: role.id, name: role.name, description: null }],
    });
  });

  it("answers 200 with null for a user without an image", async () => {
    expect((await show(viewer.id, viewer.token)).body.profile_image).toBeNull();
  });

  it("answers 200 with logged_in for a user with a session that is neither expired nor revoked", async () => {
    const user = await aUser(stack.sql);
    const loggedIn = async () => (await show(user.id, viewer.token)).body.logged_in;

    expect(await loggedIn()).toBe(true);
    await stack.sql`update refresh_tokens set revoked_at = now() where user_id = ${user.id}`;
    expect(await loggedIn()).toBe(false);
    await aSession(stack.sql, user.id, -1);
    expect(await loggedIn()).toBe(false);
    await aSession(stack.sql, user.id);
    expect(await loggedIn()).toBe(true);
  });

  it.each([
    ["takes the lock for 15 minutes", undefined, 0, ["editor", 15]],
    ["leaves the lock to the person who has it", "other", 5, ["other", 5]],
    ["renews the caller's own lock", "editor", 1, ["editor", 15]],
    ["takes over a lock that has expired", "other", -1, ["editor", 15]],
  ] as const)("answers 200 and %s when the caller may edit", async (_, before, minutes, [after, left]) => {
    const user = await aUser(stack.sql);
    const people = { editor, other: await aUser(stack.sql) };
    if (before) await lock(stack.sql, user, people[before], minutes);

    await show(user.id, editor.token);

    expect(await lockHolderOf(stack.sql, user)).toBe(people[after].id);
    expect(await minutesLeft(user)).toBe(left);
  });

  it.each([
    ["takes no lock", undefined, 0],
    ["does not renew the caller's own lock", "editor", 1],
    ["does not take over a lock that has expired", "other", -1],
  ] as const)("answers 200 and %s when none is asked for", async (_, before, minutes) => {
    const user = await aUser(stack.sql);
    const people = { editor, other: await aUser(stack.sql) };
    if (before) await lock(stack.sql, user, people[before], minutes);

    const { status, body } = await unchanged(stack, () => show(user.id, editor.token, { lock: "none" }));

    expect([status, body]).toEqual([200, (await show(user.id, editor.token)).body]);
  });

  it("answers 200 and takes no lock when the caller may not edit this user, or none", async () => {
    const administrator = await anAdministrator(stack.sql);
    const other = await holderOf(stack.sql, "view-users", "edit-roles");
    const user = await aUser(stack.sql);

    // An administrator holds all permissions of the editor and more.
    expect((await unchanged(stack, () => show(administrator.id, editor.token))).status).toBe(200);
    expect((await unchanged(stack, () => show(user.id, other.token))).status).toBe(200);
  });

  it("answers 200 to all who open it at once, and one of them has the lock", async () => {
    const user = await aUser(stack.sql);
    const editors = await Promise.all(
      Array.from({ length: 10 }, () => holderOf(stack.sql, "view-users", "edit-users")),
    );

    const replies = await Promise.all(editors.map(({ token }) => show(user.id, token)));

    expect(replies.map(({ status }) => status)).toEqual(editors.map(() => 200));
    expect(editors.map(({ id }) => id)).toContain(await lockHolderOf(stack.sql, user));
  });

  it("answers 404 when the user is deleted just before the lock is taken", async () => {
    const user = await aUser(stack.sql);

    const { reply } = await stack.sql.begin(async (deletion) => {
      await deletion`delete from users where id = ${user.id}`;
      const reply = show(user.id, editor.token);
      await untilBlocked();
      return { reply };
    });

    expect((await reply).body).toEqual(missing);
  });
});

/** Waits until a statement waits for another's lock. */
async function untilBlocked(): Promise<void> {
  const blocked = () => stack.sql`
    select from pg_locks join pg_stat_activity using (pid) where datname = current_database() and not granted
  `;
  while ((await blocked()).length === 0) await sleep(10);
}
