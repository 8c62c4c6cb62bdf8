import { beforeAll, describe, expect, it } from "vitest";
import { type Permission, permissions } from "../../lib/contract/permissions.ts";
import { aContributor } from "../support/catalogue.ts";
import { identifier, values } from "../support/database.ts";
import { anAdministrator, aUser, holderOf, type Person } from "../support/people.ts";
import { aPermission, aRole, changesOf, give, permissionId, roleIdsOf } from "../support/records.ts";
import { rounds } from "../support/rounds.ts";
import { type Reply, useStack } from "../support/stack.ts";

const atOnce = 50;
/** So many requests reach the database at once. Fifty environments take longer to open than all races to run. */
const environments = 4;
const stack = useStack({ limits: { environments } });
let administrator: Person;
/** Another contributor, for relations. */
let friend: { id: number };
let administratorRole: number;

beforeAll(async () => {
  administrator = await anAdministrator(stack.sql);
  [administratorRole = 0] = await roleIdsOf(stack.sql, administrator);
});

const times = <Result>(work: (number: number) => Promise<Result>, length = atOnce) =>
  Promise.all(Array.from({ length }, (_, number) => work(number)));
/** How often there is each status. */
const statuses = (replies: readonly Pick<Reply, "status">[]): Readonly<Record<number, number>> =>
  Object.fromEntries([...Map.groupBy(replies, ({ status }) => status)].map(([status, { length }]) => [status, length]));
const expectOnly = (replies: readonly Reply[], ...expected: readonly number[]) =>
  expect(replies.filter(({ status }) => !expected.includes(status))).toEqual([]);
const call = (by: Person, name: string, id: number, body?: object) =>
  stack.call(name, { as: by.token, path: { id }, body });
const post = (name: string, id: number, body: object) => call(administrator, name, id, body);
const remove = (name: string, id: number) => call(administrator, name, id);
/** Opens the environments before the race begins, and closes those of the race before. */
const raced = new Set<string>();
async function ready(...names: string[]): Promise<void> {
  const functions = names.map((name) => name.replaceAll("/", "-"));
  for (const name of raced) if (!functions.includes(name)) await stack.lambda.provision(name, 0);
  for (const name of functions) await stack.lambda.provision(name, environments);
  for (const name of functions) raced.add(name);
}
/** Each race is run time and again, since the first may have been won by luck. */
const inRounds = async (race: (round: number) => Promise<unknown>) => {
  for (let round = 0; round < rounds; round++) await race(round);
};
const administrators = async () =>
  (await stack.sql`select from user_roles where role_id = ${administratorRole}`).length;

/** Deletes administrators by SQL, which no rule restricts, until this many are left. */
async function onlyAdministrators(left: number): Promise<void> {
  await stack.sql`
    delete from users
    where id in (select user_id from user_roles where role_id = ${administratorRole} order by user_id offset ${left})
  `;
  if (left > 0) administrator = await anAdministrator(stack.sql);
}

/** What must hold whatever happened: each user has a role, one role is the default one, and counters are right. */
async function expectConsistency(): Promise<void> {
  const [found] = await stack.sql`
    select
      array(
        select id from users
        where username like 'racer%' and not exists (select from user_roles where user_id = users.id)
      ) as without_role,
      (select count(*)::int from roles where is_default = 1) as default_roles,
      array(
        select roles.id
        from
          (select subject, scope, sum(total) as total from counters group by subject, scope) as counted
          full join roles on roles.id = scope
        where
          subject = 'users of role'
          and total is distinct from (select count(*) from user_roles where role_id = roles.id)
      ) as miscounted_roles,
      (select count(*) from contributors) = (
        select coalesce(sum(total), 0) from counters where subject = 'contributors'
      ) as counts_contributors,
      (select count(*) from users) = (select sum(total) from counters where subject = 'users') as counts_users
  `;
  expect(found).toEqual({
    without_role: [],
    default_roles: 1,
    miscounted_roles: [],
    counts_contributors: true,
    counts_users: true,
  });
}

const ofUsers = ["admin-users/edit", "admin-users/delete"];

/** Races of the same functions stand side by side: to open environments takes as long as to race. */
describe("An addition", () => {
  it("does not wait for a transaction that adds another contributor", async () => {
    const reply = await stack.sql.begin(async (sql) => {
      await sql`insert into contributors (first_name, slug) values ('Unfinished', 'unfinished')`;
      return await post("admin-contributors/add", 0, { first_name: "Unrelated" });
    });

    expect(reply.status).toBe(200);
    await expectConsistency();
  });
});

describe("Fifty at once", () => {
  it("use a session while it is being revoked: afterwards it permits nothing", async () => {
    await ready("admin-permissions/add");
    const user = await anAdministrator(stack.sql);
    const add = (number: number) =>
      call(user, "admin-permissions/add", 0, { name: `Last ${number}`, description: "x" });

    const [logout, uses] = await Promise.all([remove("admin-users/logout", user.id), times(add)]);

    expect(logout.status).toBe(200);
    expectOnly(uses, 200, 401);
    expect((await add(99)).status).toBe(401);
  });

  it.each([
    { endpoint: "admin-permissions/add", bodyOf: (name: string) => ({ name, description: "x" }) },
    { endpoint: "admin-roles/add", bodyOf: (name: string) => ({ name, description: "x" }) },
    { endpoint: "admin-contributors/add", bodyOf: (name: string) => ({ first_name: name }) },
  ])("add the same name by $endpoint, and one wins", async ({ endpoint, bodyOf }) => {
    await ready(endpoint);
    await inRounds(async (round) => {
      const replies = await times(() => post(endpoint, 0, bodyOf(`Raced ${round}`)));

      expect(statuses(replies)).toEqual({ 200: 1, 409: atOnce - 1 });
    });
    await expectConsistency();
  });

  it("add names whose slugs meet, at once or once they are numbered, and each gets its own", async () => {
    await ready("admin-contributors/add");
    for (let round = 0; round < 5; round++) {
      await post("admin-contributors/add", 0, { first_name: `Meeting ${round}a` });

      const replies = await times((number) => {
        const first_name =
          number % 2 ? `Meeting ${round}a ${2 + Math.floor(number / 2)}` : `Meeting ${round}a${"!".repeat(1 + number)}`;
        return post("admin-contributors/add", 0, { first_name });
      });

      expect(statuses(replies)).toEqual({ 200: atOnce });
    }
    const slugs = await stack.sql`select slug from contributors where slug like 'meeting%'`;
    expect(new Set(slugs.map(({ slug }) => slug)).size).toBe(5 * (atOnce + 1));
    await expectConsistency();
  });

  it("replace a contributor's links, and those of one of them are left", async () => {
    await ready("admin-contributors/edit");
    await inRounds(async () => {
      const contributor = await aContributor(stack.sql);
      const linksOf = (number: number) =>
        Array.from({ length: 1 + (number % 7) }, (_, index) => `https://example.com/${number}/${index}`);

      const replies = await times((number) =>
        post("admin-contributors/edit", contributor.id, { first_name: contributor.slug, links: linksOf(number) }),
      );

      expect(statuses(replies)).toEqual({ 200: atOnce });
      const links = await values(stack.sql`
        select url from contributor_links where contributor_id = ${contributor.id} order by position
      `);
      expect(Array.from({ length: atOnce }, (_, number) => linksOf(number))).toContainEqual(links);
    });
  });

  const additions: readonly { kind: string; max: number; each: number; element: () => unknown }[] = [
    { kind: "aliases", max: 200, each: 30, element: () => crypto.randomUUID() },
    {
      kind: "descriptions",
      max: 40,
      each: 6,
      element: () => ({ description: "Text", language: "English", source: crypto.randomUUID() }),
    },
    {
      kind: "relations",
      max: 100,
      each: 15,
      element: () => ({ relation_id: friend.id, relation_type: crypto.randomUUID() }),
    },
  ];

  it.each(additions)("add $kind to one contributor, and $max are the most", async ({ kind, max, each, element }) => {
    await ready("admin-contributors/edit");
    await inRounds(async () => {
      const contributor = await aContributor(stack.sql);
      friend = await aContributor(stack.sql);

      const replies = await times(() =>
        post("admin-contributors/edit", contributor.id, {
          first_name: contributor.slug,
          [`added_${kind}`]: Array.from({ length: each }, () => element()),
        }),
      );

      const won = Math.floor(max / each);
      expect(statuses(replies)).toEqual({ 200: won, 400: atOnce - won });
    });
  });

  describe.each([
    { resource: "admin-contributors", make: aContributor, table: "contributor_aliases", owner: "contributor_id" },
    { resource: "admin-roles", make: aRole, table: "", owner: "" },
    { resource: "admin-permissions", make: aPermission, table: "", owner: "" },
    { resource: "admin-users", make: aUser, table: "user_roles", owner: "user_id" },
  ] as const)("change and delete $resource:", ({ resource, make, table, owner }) => {
    beforeAll(() => ready(`${resource}/edit`, `${resource}/delete`));

    it("take the same name by edits and an addition, and one wins", async () => {
      const records = await times((): Promise<{ id: number }> => make(stack.sql));
      const name = `Wanted by ${resource}`;
      const body = { username: name, name, first_name: name, description: "d" };

      const edits = await Promise.all([
        ...records.map(({ id }) => post(`${resource}/edit`, id, body)),
        // Only an operator adds users.
        resource === "admin-users" ? { status: 409 } : post(`${resource}/add`, 0, { ...body, first_name: `${name} ` }),
      ]);

      expect(statuses(edits)).toEqual({ 200: 1, 409: atOnce });
    });

    it("delete each of five once", async () => {
      const records = await Promise.all(Array.from({ length: 5 }, (): Promise<{ id: number }> => make(stack.sql)));

      const deletions = await times((number) => remove(`${resource}/delete`, records[number % 5]?.id ?? 0));

      expect(statuses(deletions)).toEqual({ 200: 5, 404: atOnce - 5 });
    });

    const elements = { added_aliases: ["x"], links: ["https://a.example"] };
    it.runIf(table)("delete one and edit it, and nothing is left of it", async () => {
      await inRounds(async (round) => {
        const [{ id }, role] = [await make(stack.sql), await aRole(stack.sql)];

        const replies = await times((number) => {
          const name = `Edited ${resource} ${round} ${number}`;
          return number % 4 === 3
            ? remove(`${resource}/delete`, id)
            : post(`${resource}/edit`, id, { first_name: name, username: name, added_roles: [role.id], ...elements });
        });

        expectOnly(replies, 200, 404);
        expect(await stack.sql`select from ${identifier(table)} where ${identifier(owner)} = ${id}`).toEqual([]);
      });
      await expectConsistency();
    });
  });

  it("delete roles that share users, and every user keeps one", async () => {
    const { sql } = stack;
    const roles = [await aRole(sql), await aRole(sql), await aRole(sql)];
    const users = await times((number) => aUser(sql, `racer ${number} ${crypto.randomUUID()}`));
    for (const user of users) await give(sql, user, ...roles);

    const replies = await Promise.all([...roles, ...roles].map(({ id }) => remove("admin-roles/delete", id)));

    expect(statuses(replies)).toEqual({ 200: 3, 404: 3 });
    await expectConsistency();
    expect(
      await sql`select from user_roles join roles on roles.id = role_id where is_default = 1 and user_id in (select id from users where username like 'racer%')`,
    ).toHaveLength(atOnce);
  });

  it("swap users between two roles, and none is refused or lost", async () => {
    await ready(...ofUsers);
    const { sql } = stack;
    const [one, other] = [await aRole(sql), await aRole(sql)];
    const users = await times((number) => aUser(sql, `racer ${number} ${crypto.randomUUID()}`));
    for (const [number, user] of users.entries()) await give(sql, user, number % 2 ? one : other);
    await inRounds(async (round) => {
      const replies = await Promise.all(
        users.map(({ id, username }, number) => {
          const [from, to] = (number + round) % 2 ? [one, other] : [other, one];
          return post("admin-users/edit", id, { username, added_roles: [to.id], removed_roles: [from.id] });
        }),
      );

      expect(statuses(replies)).toEqual({ 200: atOnce });
    });
    expect(await sql`select from user_roles where role_id in (${one.id}, ${other.id})`).toHaveLength(atOnce);
    await expectConsistency();
  });

  const losing = ({ username }: Person) => ({ username, removed_roles: [administratorRole] });

  it.each([
    { what: "delete each other", endpoint: "admin-users/delete", bodyOf: (_: Person) => undefined, distance: 1 },
    { what: "take the role from each other", endpoint: "admin-users/edit", bodyOf: losing, distance: 1 },
    { what: "delete themselves", endpoint: "admin-users/delete", bodyOf: (_: Person) => undefined, distance: 0 },
    { what: "give up the role", endpoint: "admin-users/edit", bodyOf: losing, distance: 0 },
  ])("administrators $what, and one is left", async ({ endpoint, bodyOf, distance }) => {
    await ready(...ofUsers);
    await inRounds(async (round) => {
      await onlyAdministrators(0);
      const people = await times(() => anAdministrator(stack.sql), distance && round % 2 ? 2 : atOnce);

      const replies = await Promise.all(
        people.map((person, number) => {
          const target = people[(number + distance) % people.length] ?? person;
          return call(person, endpoint, target.id, bodyOf(target));
        }),
      );

      expectOnly(replies, 200, 403, 404);
      expect(await administrators()).not.toBe(0);
      if (distance === 0) expect(statuses(replies)).toEqual({ 200: atOnce - 1, 403: 1 });
      await onlyAdministrators(1);
    });
    await expectConsistency();
  });

  it("act on users who are being promoted, and on none who has been", async () => {
    const moderator = await holderOf(stack.sql, "edit-users", "delete-users");
    await inRounds(async (round) => {
      const users = await times(() => aUser(stack.sql));
      const action = ["admin-users/delete", "admin-users/logout", "admin-users/edit"][round % 3] ?? "";

      const outcomes = await Promise.all(
        users.map(async ({ id, username }) => {
          const [promoted, acted] = await Promise.all([
            post("admin-users/edit", id, { username, added_roles: [administratorRole] }),
            call(moderator, action, id, { username: `${username} too` }),
          ]);
          const rows = await changesOf(stack.sql, "user", { id });
          return { promoted: promoted.status, acted: acted.status, last: rows.at(-1)?.caller_id };
        }),
      );

      for (const { promoted, acted, last } of outcomes) {
        expect([200, 403]).toContain(acted);
        expect([200, 404]).toContain(promoted);
        // Where both were done, the promotion came last.
        if (promoted === 200) expect(last).toBe(administrator.id);
      }
      await onlyAdministrators(1);
    });
  });

  it("give roles to one user, and permissions to one role, and nobody exceeds the limits", async () => {
    await ready("admin-users/edit", "admin-roles/edit");
    const { sql } = stack;
    const roles = await Promise.all(Array.from({ length: 210 }, () => aRole(sql)));
    const many = await values(sql`
      insert into permissions (name) select 'Many ' || number from generate_series(1, 510) as number returning id
    `);
    await inRounds(async () => {
      const user = await aUser(sql);
      const role = await aRole(sql);

      const replies = await times((number) =>
        number % 2
          ? post("admin-users/edit", user.id, {
              username: user.username,
              added_roles: roles.slice(number * 4, number * 4 + 12).map(({ id }) => id),
            })
          : post("admin-roles/edit", role.id, {
              name: role.name,
              added_permissions: many.slice(number * 10, number * 10 + 25),
            }),
      );

      expectOnly(replies, 200, 400);
      const [held] = await sql`
        select
          (select count(*)::int from user_roles where user_id = ${user.id}) as roles,
          (select count(*)::int from role_permissions where role_id = ${role.id}) as permissions
      `;
      expect(held?.roles).toBeLessThanOrEqual(200);
      expect(held?.permissions).toBeLessThanOrEqual(500);
      expect(held?.roles).toBeGreaterThan(150);
    });
    await expectConsistency();
  });

  /** The changes that a caller made after the latest one of a record. */
  const changesBehind = async (caller: Person, kind: string, record: { id: number }) => {
    const last = (await changesOf(stack.sql, kind, record)).at(-1)?.id;
    return await stack.sql`select from changes where caller_id = ${caller.id} and id > ${last}`;
  };

  it("grant a permission while they lose it, and afterwards get 403", async () => {
    const { sql } = stack;
    await inRounds(async () => {
      const granter = await holderOf(sql, "edit-roles", "delete-users");
      const [own = 0] = await roleIdsOf(sql, granter);
      const power = await permissionId(sql, "delete-users");
      const roles = await times(() => aRole(sql));
      let isRevoked = false;

      const [revocation, ...replies] = await Promise.all([
        post("admin-roles/edit", own, { name: `Stripped ${own}`, removed_permissions: [power] }).finally(() => {
          isRevoked = true;
        }),
        ...roles.map(async ({ id, name }) => {
          const wasRevoked = isRevoked;
          const reply = await call(granter, "admin-roles/edit", id, { name, added_permissions: [power] });
          if (wasRevoked) expect(reply.status).toBe(403);
          return reply;
        }),
      ]);

      expect(revocation.status).toBe(200);
      expectOnly(replies, 200, 403);
      expect(await changesBehind(granter, "role", { id: own })).toEqual([]);
    });
  });

  it("act on the Administrator role while it is taken from them, and afterwards get 403", async () => {
    const { sql } = stack;
    await ready("admin-roles/edit", "admin-users/edit");
    const everything = await aRole(sql, ...(Object.keys(permissions) as Permission[]));
    await inRounds(async () => {
      await onlyAdministrators(1);
      const former = await anAdministrator(sql);
      await give(sql, former, everything);
      const act = () => call(former, "admin-roles/edit", administratorRole, { name: "Administrator" });

      const [demotion, replies] = await Promise.all([post("admin-users/edit", former.id, losing(former)), times(act)]);

      expect(demotion.status).toBe(200);
      expectOnly(replies, 200, 403);
      expect(await changesBehind(former, "user", former)).toEqual([]);
      expect((await act()).status).toBe(403);
    });
  });

  it("grant a role while it is deleted, and nobody holds it", async () => {
    const { sql } = stack;
    const role = await aRole(sql);
    const users = await times(() => aUser(sql));

    const replies = await Promise.all([
      ...users.map(({ id, username }) => post("admin-users/edit", id, { username, added_roles: [role.id] })),
      remove("admin-roles/delete", role.id),
    ]);

    expectOnly(replies, 200, 400);
    expect(await sql`select from user_roles where role_id = ${role.id}`).toHaveLength(0);
    await expectConsistency();
  });
});
