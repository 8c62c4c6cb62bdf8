import { describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { identifier } from "../support/database.ts";
import { invalidParameter } from "../support/envelope.ts";
import { aUser } from "../support/people.ts";
import { aRole, give, type Named } from "../support/records.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
const administrator = useAdministrator(stack);

const call = (name: string, id: number | string = "", body?: unknown) =>
  stack.call(name, { as: administrator.token, path: { id, slug: id }, body });
const idsOf = (all: readonly { id: number }[]) => all.map(({ id }) => id);
const texts = (length: number, textOf: (number: number) => string) =>
  Array.from({ length }, (_, number) => textOf(number));
/** Roles or permissions of these names, all with the same description. */
const several = (table: "roles" | "permissions", names: readonly string[], description = "") => stack.sql<Named[]>`
  insert into ${identifier(table)} (name, description)
  select name, ${description} from unnest(${names as string[]}::text[]) as name
  returning id, name
`;
const unique = () => crypto.randomUUID();

describe("What exceeds a result of the Data API", () => {
  it("is read whole in a list and in a detail", async () => {
    const user = await aUser(stack.sql);
    const text = "漢".repeat(20_000);
    await give(stack.sql, user, ...(await several("roles", texts(25, unique), text)));

    const { body: list } = await call("admin-users/list");
    const { body: detail } = await call("admin-users/id", user.id);

    const listed = list.users.find(({ id }: { id: number }) => id === user.id);
    for (const { roles } of [listed, detail])
      expect(roles.map(({ description }: { description: string }) => description)).toEqual(Array(25).fill(text));
  });

  it("is not mixed from two states when it changes meanwhile", async () => {
    const role = await aRole(stack.sql);
    const longest = "d".repeat(20_000);
    const ids = idsOf(await several("permissions", texts(60, unique), longest));
    await stack.sql`
      insert into role_permissions (role_id, permission_id) select ${role.id}, unnest(${ids}::bigint[])
    `;
    let calls = 0;
    stack.dataApi.intercept(async () => {
      calls += 1;
      if (calls === 5) await stack.sql`update permissions set description = '' where id = any(${ids})`;
      return undefined;
    });

    const { body } = await call("admin-roles/id", role.id);
    stack.dataApi.intercept(undefined);

    const shown = body.permissions.map(({ description }: { description: string }) => description);
    expect(shown).toEqual(Array(60).fill(longest));
    expect(calls).toBeGreaterThan(5);
  });
});

describe("Nobody can make a record longer than a response", () => {
  it.each([
    ["roles", 200, "admin-users", "username", () => aUser(stack.sql)],
    ["permissions", 500, "admin-roles", "name", () => aRole(stack.sql)],
  ] as const)("by more %s than %i", async (kind, most, resource, field, make) => {
    const [{ id }, name] = [await make(), unique()];
    const ids = idsOf(await several(kind, texts(most + 1, unique)));
    const edit = (added: readonly number[], removed: readonly number[] = []) =>
      call(`${resource}/edit`, id, { [field]: name, [`added_${kind}`]: added, [`removed_${kind}`]: removed });
    for (let start = 1; start <= most; start += 200)
      expect((await edit(ids.slice(start, start + 200))).status).toBe(200);

    expect((await edit(ids.slice(0, 1))).body).toEqual(invalidParameter(`added_${kind}`));
    expect((await edit(ids.slice(0, 1), ids.slice(1, 2))).status).toBe(200);
    expect((await call(`${resource}/id`, id)).body[kind]).toHaveLength(most);
  });

  it("by links that were measured before they are stored", async () => {
    const { id, slug } = await aContributor(stack.sql);

    const { body } = await call("admin-contributors/edit", id, {
      first_name: slug,
      links: [`https://example.org/${"本".repeat(250)}`],
    });

    expect(body).toEqual(invalidParameter("links"));
  });
});

/** The longest legal text of a character, in UTF-16 code units; white space at its ends would be removed. */
const longestOf = (character: string, length: number) =>
  `x${character.repeat(Math.floor((length - 2) / character.length))}x`;

/** The longest that a contributor, a role or a user can be, in the characters that become the longest in a response. */
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
    const { id, slug } = await aContributor(sql, { public: true });
    const others = await sql<{ id: number }[]>`
      insert into contributors (first_name, last_name, slug, public)
      select name, ${longestName}, 'other-' || gen_random_uuid(), true
      from unnest(${texts(100, uniqueName)}::text[]) as name
      on conflict (identity_key(first_name), identity_key(last_name)) do update set public = true
      returning id
    `;
    const description = { description: longestOf(character, 20_000), language: longestName, source: longestName };
    const edit = async (body: object) =>
      expect(
        await call("admin-contributors/edit", id, { first_name: longestName, last_name: longestName, ...body }),
      ).toMatchObject({ status: 200 });
    const links = texts(50, (number) => `https://example.org/${number}#`.padEnd(2_000, "\\"));

    for (let added = 0; added < 40; added += 10) await edit({ added_descriptions: Array(10).fill(description) });
    await edit({
      public: true,
      gender: longestName,
      type: longestName,
      links,
      added_aliases: texts(200, uniqueName),
      added_relations: idsOf(others).map((relation_id) => ({ relation_id, relation_type: longestName })),
    });

    for (const { body } of [await call("admin-contributors/id", id), await call("contributor/slug", slug)]) {
      const shown = body.descriptions.map((each: { description: string }) => each.description);
      expect(shown).toEqual(Array(40).fill(description.description));
      expect([body.aliases.length, body.relations.length, body.links.length]).toEqual([200, 100, 50]);
      expect(body.links[0].url).toBe(links[0]);
    }
    await sql`delete from contributors where id = ${id}`;
  });

  it("as details of a role, the default one, too", async () => {
    const { sql } = stack;
    const added_permissions = idsOf(await several("permissions", texts(500, uniqueName), twoThousand));
    const fields = { name: uniqueName(0), description: twoThousand };
    await call("admin-roles/add", "", fields);
    const roles = await sql<Named[]>`select id, name from roles where name = ${fields.name} or is_default = 1`;

    for (const { id, name } of roles) {
      expect((await call("admin-roles/edit", id, { ...fields, name, added_permissions })).status).toBe(200);
      const { permissions } = (await call("admin-roles/id", id)).body;
      expect(permissions).toHaveLength(500);
      expect(permissions[499]).toMatchObject({ name: uniqueName(499), description: twoThousand });
    }
    expect(roles).toHaveLength(2);
    await sql`delete from permissions where id = any(${added_permissions})`;
    await sql`delete from roles where name = ${fields.name}`;
  });

  it("as details of a user", async () => {
    const { sql } = stack;
    const { id } = await aUser(sql);
    const added_roles = idsOf(await several("roles", texts(200, uniqueName), twoThousand));

    expect((await call("admin-users/edit", id, { username: longestName, added_roles })).status).toBe(200);

    const { username, roles } = (await call("admin-users/id", id)).body;
    expect(username).toBe(longestName);
    expect(roles.filter((each: { description: string }) => each.description === twoThousand)).toHaveLength(200);
    await sql`delete from users where id = ${id}`;
    await sql`delete from roles where id = any(${added_roles})`;
  });
});
