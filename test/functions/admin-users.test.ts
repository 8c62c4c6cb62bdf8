import { raw } from "sql-template-tag";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { untilBlocked } from "../support/blocked.ts";
import { useHolder } from "../support/callers.ts";
import { identifier } from "../support/database.ts";
import { envelope, forbiddenBy, unauthorized } from "../support/envelope.ts";
import { imageBaseUrl } from "../support/environment.ts";
import { anAdministrator, aSession, aUser, holderOf } from "../support/people.ts";
import { aRole, defaultRoleId, give, lock, roleIdsOf } from "../support/records.ts";
import { type Request, useStack } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";

const stack = useStack();
const editor = useHolder(stack, "view-users", "edit-users", "delete-users");

const call = (name: string, id: number, body?: object, as = editor.token) =>
  stack.call(`admin-users/${name}`, { as, path: { id }, body });
const list = async (query: NonNullable<Request["query"]>) => (await editor.call("admin-users/list", { query })).body;
const found = async (query: NonNullable<Request["query"]>): Promise<string[]> =>
  (await list(query)).users.map(({ username }: { username: string }) => username);

const updated = envelope(200, "User updated");
const loggedOut = envelope(200, "User logged out");

/** A user with these roles, and what the interface shows of the user. */
async function aWholeUser(username: string) {
  const { sql } = stack;
  const [{ id }, role, bare] = [await aUser(sql, username), await aRole(sql, "view-roles"), await aRole(sql)];
  await give(sql, { id }, role, bare);
  await sql`update roles set description = null where id = ${bare.id}`;
  await sql`
    update users set age_verified = true, image = ${`profiles/whole-${id}.webp`}, registered = '2026-11-20 12:15:00.123987+02'
    where id = ${id}
  `;
  return {
    id,
    slug: username.toLowerCase().replace(" ", "-"),
    username,
    age_verified: true,
    profile_image: `${imageBaseUrl}/profiles/whole-${id}.webp`,
    registered: "2026-11-20T10:15:00.123Z",
    roles: [
      { ...role, description: "Made for a test" },
      { ...bare, description: "" },
    ],
  };
}

describe("GET /admin-users", () => {
  it("returns 200 with users, their roles and images", async () => {
    const user = await aWholeUser("Whole Record");

    expect(await list({ search: "whole record" })).toEqual({
      users: [{ ...user, lock: null }],
      max: 1,
      from: 0,
      to: 1,
    });
  });

  it("returns 200 with the users of a role by the names that they have now", async () => {
    const [role, other] = [await aRole(stack.sql), await aRole(stack.sql)];
    const [first, second] = [await aUser(stack.sql, "Moving a"), await aUser(stack.sql, "Moving b")];
    for (const user of [first, second]) await give(stack.sql, user, role);

    await stack.sql`update users set username = 'Moving c', registered = '2019-01-01' where id = ${first.id}`;
    await give(stack.sql, first, other);

    expect(await found({ role: role.id })).toEqual(["Moving b", "Moving c"]);
    expect(await found({ role: role.id, order: "registered-asc" })).toEqual(["Moving c", "Moving b"]);
    expect(await list({ role: role.id, search: "c" })).toMatchObject({ users: [{ username: "Moving c" }], max: 1 });
    expect(await found({ role: other.id, search: "a" })).toEqual([]);
    expect(await list({ role: "", search: "moving" })).toMatchObject({ max: 2 });
  });

  it("returns 200 with the users of a role in order when one got it while being renamed", async () => {
    const role = await aRole(stack.sql);
    const [early, late] = [await aUser(stack.sql, "Meanwhile a"), await aUser(stack.sql, "Meanwhile b")];
    await give(stack.sql, late, role);

    const { giving } = await stack.sql.begin(async (renaming) => {
      await renaming`update users set username = 'Meanwhile c' where id = ${early.id}`;
      const giving = give(stack.sql, early, role);
      await untilBlocked(stack.sql);
      return { giving };
    });
    await giving;

    expect(await found({ role: role.id })).toEqual(["Meanwhile b", "Meanwhile c"]);
  });

  it("returns 200 with nobody for what is no role's id", async () => {
    for (const role of ["999999", "Administrator", "1 or 1=1", "-1", "9".repeat(20)])
      expect([role, await list({ role })]).toEqual([role, { users: [], max: 0, from: 0, to: 0 }]);
  });
});

describe("GET /admin-users, longer than one page", () => {
  const [crowd, holders] = [4_500, 2_300];
  const idsOf = (users: readonly { id: number }[]) => users.map(({ id }) => id);

  beforeAll(async () => {
    // Many of them within one millisecond, and some at the very same time.
    await stack.sql`
      insert into users (username, slug, registered)
      select 'crowd ' || n / 2 || case n % 2 when 0 then '' else 'é' end, 'crowd-' || n,
        timestamptz '2021-01-01' + make_interval(secs => n / 3 * 0.000007)
      from generate_series(1, ${crowd}) as n
    `;
  });

  it.each(["name-asc", "name-desc", "registered-asc", "registered-desc"])(
    "returns 200 with every user that it selects once in the order %s",
    async (order) => {
      const role = await aRole(stack.sql);
      await stack.sql`
        insert into user_roles (user_id, role_id)
        select id, ${role.id} from users where slug like 'crowd-%' order by md5(slug) limit ${holders}
      `;
      const direction = raw(order.endsWith("asc") ? "asc" : "desc");
      const column = identifier(order.startsWith("name") ? "username_key" : "registered");
      const ordered = await stack.sql<{ id: number; username: string; holds: boolean }[]>`
        select id, username, id in (select user_id from user_roles where role_id = ${role.id}) as holds
        from users
        where slug like 'crowd-%'
        order by ${column} ${direction}, id ${direction}
      `;
      const expected = ordered.filter(({ holds }) => holds);

      const everybody = await list({ order, search: "crowd" });
      expect([everybody.max, everybody.to, idsOf(everybody.users)]).toEqual([crowd, crowd, idsOf(ordered)]);
      const whole = await list({ role: role.id, order });
      expect([whole.max, whole.to, idsOf(whole.users)]).toEqual([holders, holders, idsOf(expected)]);
      const part = await list({ role: role.id, order, offset: 1_234, limit: 30 });
      expect([part.max, part.from, idsOf(part.users)]).toEqual([holders, 1_234, idsOf(expected).slice(1_234, 1_264)]);
      for (const search of ["7", "77", "wd 1"]) {
        const sought = await list({ role: role.id, order, search });
        const words = search.split(" ");
        const matching = expected.filter(({ username }) => words.every((word) => username.includes(word)));
        expect([sought.max, idsOf(sought.users)]).toEqual([matching.length, idsOf(matching)]);
      }
    },
  );
});

describe("GET /admin-users/id/{id}", () => {
  it("returns 200 with the user, and null for an image that is not there", async () => {
    const user = await aWholeUser("Ada Whole");

    expect((await call("id", user.id)).body).toEqual({
      ...user,
      roles: user.roles.map((role) => ({ ...role, description: role.description || null })),
      logged_in: true,
    });
    expect((await call("id", editor.id)).body.profile_image).toBeNull();
  });

  it("returns 200 with logged_in for a user with a session that is neither expired nor revoked", async () => {
    const user = await aUser(stack.sql);
    const loggedIn = async () => (await call("id", user.id)).body.logged_in;

    await stack.sql`update refresh_tokens set revoked_at = now() where user_id = ${user.id}`;
    await aSession(stack.sql, user.id, -1);
    expect(await loggedIn()).toBe(false);
    await aSession(stack.sql, user.id);
    expect(await loggedIn()).toBe(true);
  });
});

describe("POST /admin-users/edit/{id}", () => {
  const edit = async (user: { id: number; username: string }, fields: object = {}, as?: string) =>
    (await call("edit", user.id, { username: user.username, ...fields }, as)).body;
  const rowOf = async ({ id }: { id: number }) =>
    (await stack.sql`select username, slug, age_verified from users where id = ${id}`)[0];

  it("returns 200 and changes name and age verification, not the slug", async () => {
    const user = await aUser(stack.sql, "Before");

    expect(await edit(user, { username: " After ", age_verified: true, slug: "after", id: 1 })).toEqual(updated);

    expect(await rowOf(user)).toEqual({ username: "After", slug: "before", age_verified: true });
  });

  it("returns 200 and sets missing fields to their defaults, which keep the roles", async () => {
    const [user, role] = [await aUser(stack.sql, "Default"), await aRole(stack.sql)];
    await give(stack.sql, user, role);
    await edit(user, { age_verified: true });

    expect(await edit(user, { username: "DEFAULT", added_roles: null })).toEqual(updated);

    expect(await rowOf(user)).toEqual({ username: "DEFAULT", slug: "default", age_verified: false });
    expect(await roleIdsOf(stack.sql, user)).toEqual([role.id]);
  });

  describe("with roles", () => {
    let user: { id: number; username: string };
    let standard: number;
    let kept: number;
    let lost: number;
    let won: number;
    const change = async (added_roles: unknown[], removed_roles: unknown[]) => {
      expect(await edit(user, { added_roles, removed_roles })).toEqual(updated);
      return await roleIdsOf(stack.sql, user);
    };

    beforeEach(async () => {
      user = await aUser(stack.sql);
      [kept, lost, won] = [(await aRole(stack.sql)).id, (await aRole(stack.sql)).id, (await aRole(stack.sql)).id];
      await give(stack.sql, user, { id: kept }, { id: lost });
      standard = Number(await defaultRoleId(stack.sql));
    });

    it("returns 200 and adds and removes roles", async () => {
      expect(await change([kept, won, String(won)], [lost, 999_999])).toEqual([kept, won]);
    });

    it("returns 200 and removes a role that is in both lists", async () => {
      expect(await change([won, lost], [won, lost])).toEqual([kept]);
    });

    it("returns 200 and gives the default role to a user who loses all roles", async () => {
      expect(await change([], [kept, lost])).toEqual([standard]);
    });

    it("returns 200 and changes nothing where the default role would follow itself", async () => {
      await change([], [kept, lost]);
      const version = () => stack.sql`select version from users where id = ${user.id}`;
      const before = await version();

      expect(await change([], [standard])).toEqual([standard]);

      expect(await version()).toEqual(before);
    });

    it("returns 200 and takes the default role from a user who gets another one", async () => {
      await change([], [kept, lost]);

      expect(await change([won], [standard])).toEqual([won]);
    });
  });
});

/** No row refers to what is not there (REFERENCES), so nothing is left of the user. */
it("DELETE /admin-users/delete/{id} deletes a user with roles and locks", async () => {
  const { sql } = stack;
  const [user, other, edited] = [await aUser(sql), await aUser(sql), await aUser(sql)];
  await give(sql, user, await aRole(sql));
  await lock(sql, user, other);
  await lock(sql, edited, user);

  expect((await call("delete", user.id)).body).toEqual(envelope(200, "User deleted"));
  expect((await call("delete", user.id)).body).toEqual(envelope(404, "User not found"));
});

describe("POST /admin-users/logout/{id}", () => {
  const logOut = async (id: number, as?: string) => (await call("logout", id, undefined, as)).body;
  const listUsers = async (as: string) => (await stack.call("admin-users/list", { as, query: { limit: 1 } })).status;

  it("returns 200 and ends every session of the user, nobody else's", async () => {
    const user = await holderOf(stack.sql, "view-users");
    const tokens = [user.token, await aSession(stack.sql, user.id)];
    for (const token of tokens) expect(await listUsers(token)).toBe(200);

    expect(await logOut(user.id)).toEqual(loggedOut);

    for (const token of tokens) expect(await listUsers(token)).toBe(401);
    expect(await listUsers(editor.token)).toBe(200);
    expect((await unchanged(stack, () => call("logout", user.id))).body).toEqual(loggedOut);
  });

  it("returns 200 to moderators who log an editor out", async () => {
    const moderator = await holderOf(stack.sql, "edit-users");
    const other = await holderOf(stack.sql, "view-contributors", "edit-contributors", "add-contributors");

    expect(await logOut(other.id, moderator.token)).toEqual(loggedOut);
  });

  it("returns 200 to callers who log themselves out", async () => {
    const moderator = await holderOf(stack.sql, "edit-users");

    expect(await logOut(moderator.id, moderator.token)).toEqual(loggedOut);

    expect(await logOut(moderator.id, moderator.token)).toEqual(unauthorized);
  });

  it("returns 403 where the user has all permissions of the caller, and more", async () => {
    const slightlyMore = await holderOf(stack.sql, "view-users", "edit-users", "delete-users", "view-contributors");

    for (const { id } of [await anAdministrator(stack.sql), slightlyMore])
      expect((await unchanged(stack, () => call("logout", id))).body).toEqual(forbiddenBy(2));
  });
});
