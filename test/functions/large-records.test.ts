import { describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { invalidParameter } from "../support/envelope.ts";
import { aUser } from "../support/people.ts";
import { aPermission, aRole, give, type Named } from "../support/records.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
const administrator = useAdministrator(stack);

/** What one description may hold. */
const longest = "d".repeat(20_000);

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

  it("by links that were measured before they are stored", async () => {
    const contributor = await aContributor(stack.sql);

    const { body } = await call("admin-contributors/edit", contributor.id, {
      first_name: contributor.slug,
      links: [`https://example.org/${"本".repeat(250)}`],
    });

    expect(body).toEqual(invalidParameter("links"));
  });
});

/** The longest legal text of a character, in UTF-16 code units; white space at its ends would be removed. */
const longestOf = (character: string, length: number) =>
  `x${character.repeat(Math.floor((length - 2) / character.length))}x`;

/** The longest that a contributor, a role or a user can be, in the characters that become the longest in an answer. */
describe.each([
  ["quotation marks, four bytes each", '"'],
  ["backslashes, four bytes each", "\\"],
  ["line breaks", "\n"],
  ["line separators", "\u2028"],
  ["joiners", "\u200d"],
  ["characters of four bytes", "😀"],
])("The longest record is answered, in %s", (_, character) => {
  /** Names hold neither line breaks nor joiners on their own. */
  const nameCharacter = /["\\😀]/u.test(character) ? character : "漢";
  const longestName = longestOf(nameCharacter, 255);
  const uniqueName = (number: number) => `${number}`.padStart(4, "0") + longestOf(nameCharacter, 251);
  const twoThousand = longestOf(character, 2_000);

  it("as details of a contributor", async () => {
    const { sql } = stack;
    const contributor = await aContributor(sql, { public: true });
    const others = await sql<{ id: number }[]>`
      insert into contributors (first_name, last_name, slug, public)
      select name, ${longestName}, 'other-' || gen_random_uuid(), true
      from unnest(${Array.from({ length: 100 }, (_, number) => uniqueName(number))}::text[]) as name
      on conflict (identity_key(first_name), identity_key(last_name)) do update set public = true
      returning id
    `;
    const description = { description: longestOf(character, 20_000), language: longestName, source: longestName };
    const edit = (body: object) =>
      call("admin-contributors/edit", contributor.id, { first_name: longestName, last_name: longestName, ...body });
    const links = Array.from({ length: 50 }, (_, number) => `https://example.org/${number}#`.padEnd(2_000, "\\"));
    const rest = {
      public: true,
      gender: longestName,
      type: longestName,
      links,
      added_aliases: Array.from({ length: 200 }, (_, number) => uniqueName(number)),
      added_relations: others.map(({ id }) => ({ relation_id: id, relation_type: longestName })),
    };

    for (let added = 0; added < 40; added += 10) {
      expect((await edit({ added_descriptions: Array(10).fill(description) })).status).toBe(200);
    }
    expect((await edit(rest)).status).toBe(200);

    for (const [name, id] of [
      ["admin-contributors/id", contributor.id],
      ["contributor/slug", contributor.slug],
    ] as const) {
      const { body } = await call(name, id);
      expect(body.descriptions.map((each: { description: string }) => each.description)).toEqual(
        Array(40).fill(description.description),
      );
      expect([body.aliases.length, body.relations.length, body.links.length]).toEqual([200, 100, 50]);
      expect(body.links[0].url).toBe(links[0]);
    }
    await sql`delete from contributors where id = ${contributor.id}`;
  });

  it("as details of a role, the default one, too", async () => {
    const { sql } = stack;
    const permissions = await sql<Named[]>`
      insert into permissions (name, description)
      select name, ${twoThousand} from unnest(${Array.from({ length: 500 }, (_, number) => uniqueName(number))}::text[]) as name
      returning id, name
    `;
    const description = { name: uniqueName(0), description: twoThousand };
    await call("admin-roles/add", undefined, description);
    const [role] = await sql<Named[]>`select id, name from roles where name = ${description.name}`;
    const [usual] = await sql<Named[]>`select id, name from roles where is_default = 1`;

    for (const each of [role, usual]) {
      const body = { ...description, name: each?.name, added_permissions: idsOf(permissions) };
      expect((await call("admin-roles/edit", each?.id, body)).status).toBe(200);
      const detail = (await call("admin-roles/id", each?.id)).body;
      expect(detail.permissions).toHaveLength(500);
      expect(detail.permissions[499]).toMatchObject({ name: uniqueName(499), description: twoThousand });
    }
    await sql`delete from permissions where id = any(${idsOf(permissions)})`;
    await sql`delete from roles where id = ${role?.id ?? 0}`;
  });

  it("as details of a user", async () => {
    const { sql } = stack;
    const user = await aUser(sql);
    const roles = await sql<Named[]>`
      insert into roles (name, description)
      select name, ${twoThousand} from unnest(${Array.from({ length: 200 }, (_, number) => uniqueName(number))}::text[]) as name
      returning id, name
    `;

    const body = { username: longestName, added_roles: idsOf(roles) };
    expect((await call("admin-users/edit", user.id, body)).status).toBe(200);

    const detail = (await call("admin-users/id", user.id)).body;
    expect(detail.username).toBe(longestName);
    expect(detail.roles.filter((each: { description: string }) => each.description === twoThousand)).toHaveLength(200);
    await sql`delete from users where id = ${user.id}`;
    await sql`delete from roles where id = any(${idsOf(roles)})`;
  });
});
