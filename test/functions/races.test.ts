import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { aContributor } from "../support/catalogue.ts";
import { anAdministrator, aUser, type Person } from "../support/people.ts";
import { aRole, give } from "../support/records.ts";
import { type Reply, type Stack, startStack } from "../support/stack.ts";

const atOnce = 20;
let stack: Stack;
let administrator: Person;

beforeAll(async () => {
  stack = await startStack();
  administrator = await anAdministrator(stack.sql);
});

afterAll(() => stack.close());

const times = <Result>(work: (number: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: atOnce }, (_, number) => work(number)));
const statuses = (replies: readonly Reply[]) =>
  Object.entries(Object.groupBy(replies, ({ status }) => status)).map(([status, all]) => [Number(status), all?.length]);
const post = (name: string, id: number | undefined, body: unknown) =>
  stack.call(name, { as: administrator.token, ...(id === undefined ? {} : { path: { id } }), body });
const remove = (name: string, id: number) => stack.call(name, { as: administrator.token, path: { id } });

/** What must hold whatever happened. */
async function expectConsistency(): Promise<void> {
  const { sql } = stack;
  expect(
    await sql`select id from users where not exists (select from user_roles where user_id = users.id) and username like 'racer%'`,
  ).toEqual([]);
  expect(await sql`select from roles where is_default = 1`).toHaveLength(1);
  expect(
    await sql`
      select roles.id, tally, (select count(*) from user_roles where role_id = roles.id) as users
      from tallies full join roles on roles.id = scope
      where subject = 'users of role' and tally is distinct from (select count(*) from user_roles where role_id = roles.id)
    `,
  ).toEqual([]);
  const [counts] = await sql`
    select
      (select count(*)::int from contributors) as contributors,
      (select coalesce(sum(tally), 0)::int from tallies where subject = 'contributors') as tallied,
      (select count(*)::int from users) as users,
      (select tally::int from tallies where subject = 'users') as tallied_users
  `;
  expect(counts?.tallied).toBe(counts?.contributors);
  expect(counts?.tallied_users).toBe(counts?.users);
}

describe("Twenty at once", () => {
  it.each([
    ["admin-roles/add", { name: "Raced", description: "x" }],
    ["admin-permissions/add", { name: "Raced", description: "x" }],
    ["admin-contributors/add", { first_name: "Raced" }],
  ])("add the same name by %s, and one wins", async (name, body) => {
    expect(statuses(await times(() => post(name, undefined, body)))).toEqual([
      [200, 1],
      [409, atOnce - 1],
    ]);
    await expectConsistency();
  });

  it("take the same user name by edits, and one wins", async () => {
    const users = await times(() => aUser(stack.sql));

    const replies = await Promise.all(users.map(({ id }) => post("admin-users/edit", id, { username: "Wanted" })));

    expect(statuses(replies)).toEqual([
      [200, 1],
      [409, atOnce - 1],
    ]);
  });

  it("add names that make the same slug, and each gets its own", async () => {
    const replies = await times((number) =>
      post("admin-contributors/add", undefined, { first_name: `Same Slug${"!".repeat(number)}` }),
    );

    expect(statuses(replies)).toEqual([[200, atOnce]]);
    const slugs = await stack.sql`select slug from contributors where slug like 'same-slug%'`;
    expect(new Set(slugs.map(({ slug }) => slug)).size).toBe(atOnce);
    await expectConsistency();
  });

  it("add names whose slugs meet once they are numbered, and each gets its own", async () => {
    for (let round = 0; round < 5; round++) {
      await post("admin-contributors/add", undefined, { first_name: `Meeting ${round}a` });

      const replies = await times((number) => {
        const first_name =
          number % 2 ? `Meeting ${round}a ${2 + Math.floor(number / 2)}` : `Meeting ${round}a${"!".repeat(1 + number)}`;
        return post("admin-contributors/add", undefined, { first_name });
      });

      expect(statuses(replies)).toEqual([[200, atOnce]]);
    }
  });

  it("delete a contributor and edit it, and nothing is left of it", async () => {
    const contributor = await aContributor(stack.sql);

    const replies = await times((number) =>
      number % 4 === 0
        ? remove("admin-contributors/delete", contributor.id)
        : post("admin-contributors/edit", contributor.id, {
            first_name: `Edited ${number}`,
            added_aliases: ["x"],
            links: ["https://example.com"],
          }),
    );

    expect(replies.filter(({ status }) => ![200, 404].includes(status))).toEqual([]);
    expect(await stack.sql`select from contributor_aliases where contributor_id = ${contributor.id}`).toHaveLength(0);
    await expectConsistency();
  });

  it("delete roles that share users, and every user keeps one", async () => {
    const { sql } = stack;
    const roles = [await aRole(sql), await aRole(sql), await aRole(sql)];
    const users = await times((number) => aUser(sql, `racer ${number} ${crypto.randomUUID()}`));
    for (const user of users) await give(sql, user, ...roles);

    const replies = await Promise.all([...roles, ...roles].map(({ id }) => remove("admin-roles/delete", id)));

    expect(statuses(replies)).toEqual([
      [200, 3],
      [404, 3],
    ]);
    await expectConsistency();
    expect(
      await sql`select from user_roles join roles on roles.id = role_id where is_default = 1 and user_id in (select id from users where username like 'racer%')`,
    ).toHaveLength(atOnce);
  });

  it("use a session while it is being revoked: afterwards it opens nothing", async () => {
    const user = await anAdministrator(stack.sql);
    const add = (number: number) =>
      stack.call("admin-permissions/add", { as: user.token, body: { name: `Last ${number}`, description: "x" } });

    const [logout, ...uses] = await Promise.all([
      stack.call("admin-users/logout", { as: administrator.token, path: { id: user.id } }),
      ...Array.from({ length: atOnce }, (_, number) => add(number)),
    ]);

    expect(logout.status).toBe(200);
    expect(uses.filter(({ status }) => ![200, 401].includes(status))).toEqual([]);
    expect((await add(99)).status).toBe(401);
  });

  it("delete each other, and the data stay whole", async () => {
    const people = await times(() => anAdministrator(stack.sql));

    const replies = await Promise.all(
      people.map(({ token }, number) =>
        stack.call("admin-users/delete", { as: token, path: { id: people[(number + 1) % atOnce]?.id ?? 0 } }),
      ),
    );

    expect(replies.filter(({ status }) => ![200, 404].includes(status))).toEqual([]);
    await expectConsistency();
  });

  it("grant a role while it is deleted, and nobody holds it", async () => {
    const { sql } = stack;
    const role = await aRole(sql);
    const users = await times(() => aUser(sql));

    const replies = await Promise.all([
      ...users.map(({ id, username }) => post("admin-users/edit", id, { username, added_roles: [role.id] })),
      remove("admin-roles/delete", role.id),
    ]);

    expect(replies.filter(({ status }) => ![200, 400].includes(status))).toEqual([]);
    expect(await sql`select from user_roles where role_id = ${role.id}`).toHaveLength(0);
    await expectConsistency();
  });
});
