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

const call = (name: string, id: number | string, body?: unknown) =>
  administrator.call(name, { path: { id, slug: id }, body });
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
  await stack.sql`insert into role_permissions (role_id, permission_id) select ${role.id}, unnest(${ids}::bigint[])`;
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

/** The longest legal text of a character, in UTF-16 code units; white space at its ends would be removed. */
const longestOf = (character: string, length: number) =>
  `x${character.repeat(Math.floor((length - 2) / character.length))}x`;

/** The longest that a contributor, a role or a user can be, in the characters that become the longest in a response. */
describe.each([
  ["backslashes, four bytes each", "\\"],
  ["line breaks", "\n"],
  ["line separators", "\u2028"],
  ["characters of four bytes", "😀"],
])("The longest record is answered, in %s", (_, character) => {
  /** Names hold no line breaks. */
  const nameCharacter = /[\\😀]/u.test(character) ? character : "漢";
  const longestName = longestOf(nameCharacter, 255);
  const uniqueName = (number: number) => `${number}`.padStart(4, "0") + longestOf(nameCharacter, 251);
  const twoThousand = longestOf(character, 2_000);

  it("as details of a contributor, and none of its lists gets longer", async () => {
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
    const names = { first_name: longestName, last_name: longestName };
    const edit = (body: object) => call("admin-contributors/edit", id, { ...names, ...body });
    const links = texts(50, (number) => `https://example.org/${number}#`.padEnd(2_000, "\\"));

    for (let added = 0; added < 40; added += 10) await edit({ added_descriptions: Array(10).fill(description) });
    const fields = { public: true, gender: longestName, type: longestName, links };
    await edit({
      ...fields,
      added_aliases: texts(200, uniqueName),
      added_relations: idsOf(others).map((relation_id) => ({ relation_id, relation_type: longestName })),
    });
    const full = (await call("admin-contributors/id", id)).body;
    for (const [kind, element] of Object.entries({
      aliases: "one more",
      descriptions: description,
      relations: { relation_id: others[0]?.id, relation_type: "one more" },
    })) {
      const added = { ...fields, [`added_${kind}`]: [element] };
      expect((await edit(added)).body).toEqual(invalidParameter(`added_${kind}`));
      expect((await edit({ ...added, [`removed_${kind}`]: [full[kind][0].id] })).status).toBe(200);
    }

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
  ] as const)("as details of a %s, and its list gets no longer", async (_, field, kind, most, make) => {
    const { id, name } = await make();
    const resource = kind === "roles" ? "admin-users" : "admin-roles";
    const parts = await several(kind, texts(most, uniqueName), twoThousand);
    const edit = (body: object) => call(`${resource}/edit`, id, { [field]: name, description: twoThousand, ...body });

    expect((await edit({ [`added_${kind}`]: idsOf(parts) })).status).toBe(200);
    const more = await several(kind, [unique()], twoThousand);
    const added = { [`added_${kind}`]: idsOf(more) };
    expect((await edit(added)).body).toEqual(invalidParameter(`added_${kind}`));
    expect((await edit({ ...added, [`removed_${kind}`]: [parts[0]?.id] })).status).toBe(200);
    const { [field]: shown, [kind]: all } = (await call(`${resource}/id`, id)).body;
    expect(shown).toBe(name);
    expect(all.filter((each: { description: string }) => each.description === twoThousand)).toHaveLength(most);
    await stack.sql`delete from ${identifier(kind)} where id = any(${idsOf([...parts, ...more])})`;
    if (kind === "roles") await stack.sql`delete from users where id = ${id}`;
  });
});
