import { describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { identifier } from "../support/database.ts";
import { invalidParameter } from "../support/envelope.ts";
import { aUser } from "../support/people.ts";
import { aRole, defaultRoleId, type Named } from "../support/records.ts";
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

it("What exceeds a result of the Data API is not mixed from two states when it changes meanwhile", async () => {
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

it.each([
  ["roles", 200, "admin-users", "username", () => aUser(stack.sql)],
  ["permissions", 500, "admin-roles", "name", () => aRole(stack.sql)],
] as const)(
  "Nobody can make a record longer than a response by more %s than %i",
  async (kind, most, resource, field, make) => {
    const [{ id }, name] = [await make(), unique()];
    const ids = idsOf(await several(kind, texts(most + 1, unique)));
    const edit = (added: readonly number[], removed: readonly number[] = []) =>
      call(`${resource}/edit`, id, { [field]: name, [`added_${kind}`]: added, [`removed_${kind}`]: removed });
    for (let start = 1; start <= most; start += 200)
      expect((await edit(ids.slice(start, start + 200))).status).toBe(200);

    expect((await edit(ids.slice(0, 1))).body).toEqual(invalidParameter(`added_${kind}`));
    expect((await edit(ids.slice(0, 1), ids.slice(1, 2))).status).toBe(200);
    expect((await call(`${resource}/id`, id)).body[kind]).toHaveLength(most);
  },
);

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

  it.each([
    ["role", "name", "permissions", 500, () => aRole(stack.sql)],
    ["default role", "name", "permissions", 500, async () => ({ id: await defaultRoleId(stack.sql), name: "Default" })],
    ["user", "username", "roles", 200, async () => ({ ...(await aUser(stack.sql)), name: longestName })],
  ] as const)("as details of a %s", async (_, field, kind, most, make) => {
    const { id, name } = await make();
    const resource = kind === "roles" ? "admin-users" : "admin-roles";
    const parts = await several(kind, texts(most, uniqueName), twoThousand);
    const fields = { [field]: name, description: twoThousand, [`added_${kind}`]: idsOf(parts) };

    expect((await call(`${resource}/edit`, id, fields)).status).toBe(200);

    const { [field]: shown, [kind]: all } = (await call(`${resource}/id`, id)).body;
    expect(shown).toBe(name);
    expect(all.filter((each: { description: string }) => each.description === twoThousand)).toHaveLength(most);
    await stack.sql`delete from ${identifier(kind)} where id = any(${idsOf(parts)})`;
    if (kind === "roles") await stack.sql`delete from users where id = ${id}`;
  });
});
