import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { aContributor } from "../support/catalogue.ts";
import { invalidParameter } from "../support/envelope.ts";
import { anAdministrator, aUser, type Person } from "../support/people.ts";
import { aPermission, aRole, give, type Named } from "../support/records.ts";
import { type Stack, startStack } from "../support/stack.ts";

let stack: Stack;
let administrator: Person;

/** What one description may hold. */
const longest = "d".repeat(20_000);

beforeAll(async () => {
  stack = await startStack();
  administrator = await anAdministrator(stack.sql);
});

afterAll(() => stack.close());

const call = (name: string, id?: number | string, body?: unknown) =>
  stack.call(name, {
    as: administrator.token,
    ...(id === undefined ? {} : { path: name.endsWith("slug") ? { slug: id } : { id } }),
    ...(body === undefined ? {} : { body }),
  });
const many = (make: () => Promise<Named>, count: number): Promise<Named[]> =>
  Promise.all(Array.from({ length: count }, make));
const aLongRole = async (description = longest): Promise<Named> => {
  const role = await aRole(stack.sql);
  await stack.sql`update roles set description = ${description} where id = ${role.id}`;
  return role;
};
const aLongPermission = async (description = longest): Promise<Named> => {
  const permission = await aPermission(stack.sql);
  await stack.sql`update permissions set description = ${description} where id = ${permission.id}`;
  return permission;
};
const idsOf = (all: readonly Named[]) => all.map(({ id }) => id);

describe("What exceeds a result of the Data API", () => {
  it("is read whole in a list and in a detail", async () => {
    const user = await aUser(stack.sql);
    const text = "漢".repeat(20_000);
    await give(stack.sql, user, ...(await many(() => aLongRole(text), 25)));

    const { body: list } = await call("admin-users/list");
    const { body: detail } = await call("admin-users/id", user.id);

    const listed = list.users.find(({ id }: { id: number }) => id === user.id);
    for (const { roles } of [listed, detail]) {
      expect(roles).toHaveLength(25);
      expect(roles.every(({ description }: { description: string }) => description === text)).toBe(true);
    }
  });

  it("is not mixed from two states when it changes meanwhile", async () => {
    const role = await aRole(stack.sql);
    const permissions = await many(aLongPermission, 60);
    await stack.sql`
      insert into role_permissions (role_id, permission_id)
      select ${role.id}, unnest(${idsOf(permissions)}::bigint[])
    `;
    let calls = 0;
    stack.dataApi.intercept(async () => {
      calls += 1;
      if (calls === 5) await stack.sql`update permissions set description = '' where id = any(${idsOf(permissions)})`;
      return undefined;
    });

    const { body } = await call("admin-roles/id", role.id);
    stack.dataApi.intercept(undefined);

    expect(body.permissions.map(({ description }: { description: string }) => description)).toEqual(
      Array(60).fill(longest),
    );
    expect(calls).toBeGreaterThan(5);
  });
});

describe("Nobody can make a record longer than an answer", () => {
  it("by roles of a user", async () => {
    const user = await aUser(stack.sql);
    const roles = await many(() => aRole(stack.sql), 201);
    const edit = (added: readonly Named[], removed: readonly Named[] = []) =>
      call("admin-users/edit", user.id, {
        username: user.username,
        added_roles: idsOf(added),
        removed_roles: idsOf(removed),
      });

    expect((await edit(roles.slice(1))).status).toBe(200);
    expect((await edit(roles.slice(0, 1))).body).toEqual(invalidParameter("added_roles"));
    expect((await edit(roles.slice(0, 1), roles.slice(1, 2))).status).toBe(200);
    expect((await call("admin-users/id", user.id)).body.roles).toHaveLength(200);
  });

  it("by permissions of a role", async () => {
    const role = await aRole(stack.sql);
    const permissions = await many(() => aPermission(stack.sql), 501);
    const edit = (added: readonly Named[]) =>
      call("admin-roles/edit", role.id, { name: role.name, added_permissions: idsOf(added) });
    for (const start of [1, 201, 401]) expect((await edit(permissions.slice(start, start + 200))).status).toBe(200);

    expect((await edit(permissions.slice(0, 1))).body).toEqual(invalidParameter("added_permissions"));
    expect((await call("admin-roles/id", role.id)).body.permissions).toHaveLength(500);
  });

  it("by descriptions, aliases, relations and links of a contributor, all at their limits", async () => {
    const contributor = await aContributor(stack.sql, { public: true });
    const others = await Promise.all(
      Array.from({ length: 100 }, (_, number) => {
        return aContributor(stack.sql, { first_name: String(number).padEnd(255, "本"), last_name: "漢".repeat(255) });
      }),
    );
    await stack.sql`update contributors set public = true`;
    const links = Array.from({ length: 50 }, (_, number) => `https://example.org/${number}/`.padEnd(2_000, "x"));
    for (const fields of [
      { added_descriptions: Array(7).fill({ description: "\u0001".repeat(20_000), language: "de" }) },
      {
        links,
        added_aliases: Array(200).fill("漢".repeat(255)),
        added_relations: others.map(({ id }) => ({ relation_id: id, relation_type: "漢".repeat(255) })),
      },
    ]) {
      const body = { first_name: "Enormous", public: true, ...fields };
      expect((await call("admin-contributors/edit", contributor.id, body)).status).toBe(200);
    }

    const [{ slug } = {}] = await stack.sql`select slug from contributors where id = ${contributor.id}`;
    const { body } = await call("contributor/slug", slug);

    expect(body.descriptions).toHaveLength(7);
    expect(body.relations).toHaveLength(100);
    expect((await call("admin-contributors/id", contributor.id)).body.links).toHaveLength(50);
  });

  it("by links that were measured before they are stored", async () => {
    const contributor = await aContributor(stack.sql);

    const { body } = await call("admin-contributors/edit", contributor.id, {
      first_name: contributor.slug,
      links: [`https://example.org/${"本".repeat(250)}`],
    });

    expect(body).toEqual(invalidParameter("links"));
  });
});
