import { raw } from "sql-template-tag";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { identifier } from "../../support/database.ts";
import { imageBaseUrl } from "../../support/environment.ts";
import { aUser, holderOf, type Person } from "../../support/people.ts";
import { aRole, give, lock } from "../../support/records.ts";
import { type Request, useStack } from "../../support/stack.ts";

const stack = useStack();
const viewer = useHolder(stack, "view-users");

const list = async (query: Request["query"] = {}, as = viewer.token) =>
  (await stack.call("admin-users/list", { as, query })).body;
const namesOf = ({ users }: { users: { username: string }[] }) => users.map(({ username }) => username);

/** A session waits for a lock of this one. */
const waitingFor = (pid: number) =>
  vi.waitUntil(
    async () => (await stack.sql`select from pg_stat_activity where ${pid} = any(pg_blocking_pids(pid))`).length > 0,
    { timeout: 30_000 },
  );

describe("GET /admin-users", () => {
  it("answers 200 with users, their roles and images", async () => {
    const { id } = await aUser(stack.sql, "Whole Record");
    const role = await aRole(stack.sql, "view-roles");
    const bare = await aRole(stack.sql);
    await give(stack.sql, { id }, role, bare);
    await stack.sql`update roles set description = null where id = ${bare.id}`;
    await stack.sql`
      update users
      set age_verified = true, image = 'users/whole.webp', registered = '2026-11-20 10:15:00.123987+00'
      where id = ${id}
    `;

    expect(await list({ search: "whole record" })).toEqual({
      users: [
        {
          id,
          slug: "whole-record",
          username: "Whole Record",
          age_verified: true,
          profile_image: `${imageBaseUrl}/users/whole.webp`,
          registered: "2026-11-20T10:15:00.123Z",
          roles: [
            { id: role.id, name: role.name, description: "Made for a test" },
            { id: bare.id, name: bare.name, description: "" },
          ],
          lock: null,
        },
      ],
      max: 1,
      from: 0,
      to: 1,
    });
  });

  it("answers 200 in the order asked for, names without regard to case and accents", async () => {
    const names = ["Ordered Zoë", "ordered anna", "ORDERED Émile", "Ordered zoe"];
    for (const [index, name] of names.entries()) {
      const { id } = await aUser(stack.sql, name.replace("zoe", "zoe 2"));
      await stack.sql`update users set registered = ${`2020-01-0${index + 1}T00:00:00Z`} where id = ${id}`;
    }
    const byName = ["ordered anna", "ORDERED Émile", "Ordered Zoë", "Ordered zoe 2"];
    const byTime = ["Ordered Zoë", "ordered anna", "ORDERED Émile", "Ordered zoe 2"];
    const search = "ordered";

    expect(namesOf(await list({ search }))).toEqual(byName);
    expect(namesOf(await list({ search, order: "name-asc" }))).toEqual(byName);
    expect(namesOf(await list({ search, order: "name-desc" }))).toEqual(byName.toReversed());
    expect(namesOf(await list({ search, order: "registered-asc" }))).toEqual(byTime);
    expect(namesOf(await list({ search, order: "registered-desc" }))).toEqual(byTime.toReversed());
  });

  it("answers 200 with the part of the list that limit and offset select", async () => {
    for (const letter of "abcde") await aUser(stack.sql, `Paged ${letter}`);

    expect(await list({ search: "paged", limit: 2, offset: 1 })).toMatchObject({
      users: [{ username: "Paged b" }, { username: "Paged c" }],
      max: 5,
      from: 1,
      to: 3,
    });
    expect(await list({ search: "paged", offset: 9 })).toEqual({ users: [], max: 5, from: 5, to: 5 });
    expect(await list({ search: "paged", limit: 0 })).toEqual({ users: [], max: 5, from: 0, to: 0 });
  });

  it("answers 200 with users whose name contains the search, wildcards being plain characters", async () => {
    for (const name of ["100% cotton", "100 percent cotton", "snake_case", "snakeXcase", "back\\slash"])
      await aUser(stack.sql, name);

    expect(namesOf(await list({ search: "100%" }))).toEqual(["100% cotton"]);
    expect(namesOf(await list({ search: "SNAKE_" }))).toEqual(["snake_case"]);
    expect(namesOf(await list({ search: "k\\s" }))).toEqual(["back\\slash"]);
    expect(namesOf(await list({ search: "' or 1=1 --" }))).toEqual([]);
    expect(namesOf(await list({ search: " COTTON\u3000100 " }))).toEqual(["100 percent cotton", "100% cotton"]);
    expect(namesOf(await list({ search: "cotton snake" }))).toEqual([]);
  });

  it("answers 200 with the users of a role, and counts them", async () => {
    const role = await aRole(stack.sql);
    for (const name of ["Member b", "Member a", "Member c"]) await give(stack.sql, await aUser(stack.sql, name), role);
    await aUser(stack.sql, "Member of nothing");

    expect(namesOf(await list({ role: role.id }))).toEqual(["Member a", "Member b", "Member c"]);
    expect(await list({ role: role.id, limit: 1 })).toMatchObject({ max: 3, from: 0, to: 1 });
    expect(await list({ role: role.id, search: "c MEM" })).toMatchObject({ users: [{ username: "Member c" }], max: 1 });
    expect((await list({ role: "", search: "member" })).max).toBe(4);
  });

  it("answers 200 with the users of a role by the names that they have now", async () => {
    const [role, other] = [await aRole(stack.sql), await aRole(stack.sql)];
    const [first, second] = [await aUser(stack.sql, "Moving a"), await aUser(stack.sql, "Moving b")];
    for (const user of [first, second]) await give(stack.sql, user, role);

    await stack.sql`update users set username = 'Moving c', registered = '2019-01-01' where id = ${first.id}`;
    await give(stack.sql, first, other);

    expect(namesOf(await list({ role: role.id }))).toEqual(["Moving b", "Moving c"]);
    expect(namesOf(await list({ role: role.id, order: "registered-asc" }))).toEqual(["Moving c", "Moving b"]);
    expect(namesOf(await list({ role: role.id, search: "c" }))).toEqual(["Moving c"]);
    expect(namesOf(await list({ role: other.id, search: "a" }))).toEqual([]);
  });

  it("answers 200 with the users of a role in order when one got it while being renamed", async () => {
    const role = await aRole(stack.sql);
    const [early, late] = [await aUser(stack.sql, "Meanwhile a"), await aUser(stack.sql, "Meanwhile b")];
    await give(stack.sql, late, role);

    const { given } = await stack.sql.begin(async (renaming) => {
      await renaming`update users set username = 'Meanwhile c' where id = ${early.id}`;
      const [{ id: pid } = { id: 0 }] = await renaming<{ id: number }[]>`select pg_backend_pid() as id`;
      const given = give(stack.sql, early, role);
      await waitingFor(pid);
      return { given };
    });
    await given;

    expect(namesOf(await list({ role: role.id }))).toEqual(["Meanwhile b", "Meanwhile c"]);
  });

  it.each(["999999", "Administrator", "1 or 1=1", "-1", "99999999999999999999"])(
    "answers 200 with nobody for the role %s, which is no role's id",
    async (role) => {
      expect(await list({ role })).toEqual({ users: [], max: 0, from: 0, to: 0 });
    },
  );

  it("answers 200 with all users, and counts them, without parameters", async () => {
    const { users, max, to } = await list();

    const [{ count } = { count: -1 }] = await stack.sql<{ count: number }[]>`select count(*) from users`;
    expect([users.length, max, to]).toEqual([count, count, count]);
  });

  it("answers 200 with another person's lock, while it lasts", async () => {
    const holder = await holderOf(stack.sql, "view-users");
    const lockOf = async (name: string, as: Person) => (await list({ search: name }, as.token)).users[0].lock;
    await lock(stack.sql, await aUser(stack.sql, "Locked now"), holder);
    await lock(stack.sql, await aUser(stack.sql, "Locked once"), holder, -1);

    expect(await lockOf("Locked now", viewer)).toEqual({ id: holder.id, username: holder.username });
    expect(await lockOf("Locked now", holder)).toBeNull();
    expect(await lockOf("Locked once", viewer)).toBeNull();
  });
});

describe("GET /admin-users, longer than one page", () => {
  const crowd = 4_500;

  beforeAll(async () => {
    // Many of them within one millisecond, and some at the very same time.
    await stack.sql`
      insert into users (username, slug, registered)
      select 'crowd ' || n / 2 || case n % 2 when 0 then '' else 'é' end, 'crowd-' || n,
        timestamptz '2021-01-01' + make_interval(secs => n / 3 * 0.000007)
      from generate_series(1, ${crowd}) as n
    `;
  });

  const holders = 2_300;
  const idsOf = (found: readonly { id: number }[]) => found.map(({ id }) => id);

  it.each(["name-asc", "name-desc", "registered-asc", "registered-desc"])(
    "answers 200 with everybody, and with the users of a role, once, in the order %s, with and without a search",
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
      expect([part.max, idsOf(part.users)]).toEqual([holders, idsOf(expected).slice(1_234, 1_264)]);
      for (const search of ["7", "77", "wd 1"]) {
        const sought = await list({ role: role.id, order, search });
        const words = search.split(" ");
        const matching = expected.filter(({ username }) => words.every((word) => username.includes(word)));
        expect([sought.max, idsOf(sought.users)]).toEqual([matching.length, idsOf(matching)]);
      }
    },
  );
});
