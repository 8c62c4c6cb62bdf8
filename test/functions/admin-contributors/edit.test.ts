import { describe, expect, it } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { aContributor, type Entry } from "../../support/catalogue.ts";
import { envelope, invalidParameter } from "../../support/envelope.ts";
import { anAdministrator } from "../../support/people.ts";
import { useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const stack = useStack();
const editor = useHolder(stack, "edit-contributors", "view-contributors");

const edit = (id: number | string, body: unknown, as: string | undefined = editor.token) =>
  stack.call("admin-contributors/edit", { as, path: { id }, body });
const detail = async ({ id }: Entry) =>
  (await stack.call("admin-contributors/id", { as: editor.token, path: { id } })).body;
const name = () => `Name ${crypto.randomUUID()}`;

/** Another contributor, for relations. */
let other = 0;

/** A contributor with an alias, a description and a relation. */
async function aFullContributor() {
  const { sql } = stack;
  const contributor = await aContributor(sql, { last_name: "Old", gender: "male", type: "author" });
  const friend = await aContributor(sql);
  const one = async (rows: Promise<readonly { id?: number }[]>) => (await rows)[0]?.id ?? 0;
  return {
    ...contributor,
    friend,
    alias: await one(
      sql`insert into contributor_aliases (contributor_id, name) values (${contributor.id}, 'Alias') returning id`,
    ),
    description: await one(sql`
      insert into contributor_descriptions (contributor_id, language, description, source)
      values (${contributor.id}, 'English', 'Old text', 'Wikipedia') returning id
    `),
    relation: await one(sql`
      insert into contributor_relations (contributor_id, relation_id, relation_type)
      values (${contributor.id}, ${friend.id}, 'friend') returning id
    `),
  };
}

describe("POST /admin-contributors/edit/{id}", () => {
  it("answers 200 and changes all fourteen fields at once", async () => {
    const contributor = await aFullContributor();
    const other = await aFullContributor();
    const first_name = name();

    const { status, body } = await edit(contributor.id, {
      first_name: `  ${first_name} `,
      last_name: "New",
      gender: "female",
      type: "artist",
      links: ["example.com/a?utm_source=x", "HTTP://Example.com:80/b/", "https://example.com/a"],
      public: true,
      added_aliases: ["One", { name: "Two" }],
      removed_aliases: [contributor.alias],
      added_descriptions: [{ description: "Neu", language: "German", source: "Verlag" }],
      removed_descriptions: [],
      modified_descriptions: [{ id: contributor.description, description: "New text" }],
      added_relations: [{ relation_id: other.id, relation_type: "sibling" }],
      removed_relations: [],
      modified_relations: [{ id: contributor.relation, relation_type: "spouse" }],
    });

    expect([status, body]).toEqual([200, envelope(200, "Contributor updated")]);
    const now = await detail(contributor);
    expect(now).toMatchObject({
      first_name,
      last_name: "New",
      slug: contributor.slug,
      gender: "female",
      links: [
        { url: "https://example.com/a", domain: "example.com" },
        { url: "http://example.com/b", domain: "example.com" },
      ],
      aliases: [{ name: "One" }, { name: "Two" }],
      descriptions: [
        { id: contributor.description, description: "New text", language: "English", source: "Wikipedia" },
        { description: "Neu", language: "German", source: "Verlag" },
      ],
      relations: [
        { id: contributor.relation, relation_id: contributor.friend.id, relation_type: "spouse" },
        { relation_id: other.id, relation_type: "sibling" },
      ],
    });
    const [row] = await stack.sql`select public, type from contributors where id = ${contributor.id}`;
    expect(row).toEqual({ public: true, type: "artist" });
    expect(await detail(other)).toMatchObject({ aliases: [{ id: other.alias }], relations: [{ id: other.relation }] });
  });

  it("answers 200 to links as strings and as the objects that the detail shows, and keeps them as they were", async () => {
    const contributor = await aFullContributor();
    const [one, other] = ["https://example.com/a?b=%C3%A9", "http://www.example.org"];
    await edit(contributor.id, { first_name: name(), links: [{ url: one }, other, { url: `${other}/`, domain: 5 }] });
    const { links, first_name } = await detail(contributor);
    expect(links).toEqual([
      { url: one, domain: "example.com" },
      { url: other, domain: "example.org" },
    ]);

    await edit(contributor.id, { first_name, links });

    expect((await detail(contributor)).links).toEqual(links);
  });

  it("answers 200 and sets missing fields to their defaults", async () => {
    const contributor = await aFullContributor();
    await edit(contributor.id, { first_name: name(), links: ["https://example.com"], public: true });
    const first_name = name();

    await edit(contributor.id, { first_name, links: null, id: 1, slug: "mine", __proto__: { public: true } });

    expect(await detail(contributor)).toMatchObject({
      id: contributor.id,
      slug: contributor.slug,
      first_name,
      last_name: "",
      gender: "",
      links: [],
      aliases: [{ id: contributor.alias }],
      descriptions: [{ id: contributor.description }],
      relations: [{ id: contributor.relation }],
    });
    const [row] = await stack.sql`select public, type, last_name from contributors where id = ${contributor.id}`;
    expect(row).toEqual({ public: false, type: null, last_name: null });
  });

  it("answers 200 and removes elements that are both modified and removed, given by id or object", async () => {
    const contributor = await aFullContributor();

    await edit(contributor.id, {
      first_name: name(),
      removed_aliases: [{ id: String(contributor.alias) }],
      modified_descriptions: [{ id: contributor.description, description: "x" }],
      removed_descriptions: [{ id: contributor.description }],
      modified_relations: [{ id: contributor.relation, relation_type: "x" }],
      removed_relations: [contributor.relation],
    });

    expect(await detail(contributor)).toMatchObject({ aliases: [], descriptions: [], relations: [] });
  });

  it("answers 200 to saving the same name again, and releases the caller's lock only", async () => {
    const contributor = await aFullContributor();
    const other = await anAdministrator(stack.sql);
    const first_name = name();
    await edit(contributor.id, { first_name });
    await detail(contributor);
    expect(await stack.sql`select from contributor_locks where contributor_id = ${contributor.id}`).toHaveLength(1);

    expect((await edit(contributor.id, { first_name: first_name.toUpperCase() }, other.token)).status).toBe(200);
    expect(await stack.sql`select from contributor_locks where contributor_id = ${contributor.id}`).toHaveLength(1);
    expect((await edit(contributor.id, { first_name })).status).toBe(200);
    expect(await stack.sql`select from contributor_locks where contributor_id = ${contributor.id}`).toHaveLength(0);
  });

  it.each([
    ["first_name", "x".repeat(256)],
    ["first_name", "a\0b"],
    ["last_name", 5],
    ["gender", {}],
    ["type", ["x"]],
    ["public", "yes"],
    ["links", "https://example.com"],
    ["links", ["javascript:alert(1)"]],
    ["links", ["ftp://example.com"]],
    ["links", [{ url: "javascript:alert(1)" }]],
    ["links", [{ domain: "example.com" }]],
    ["links", [null]],
    ["links", ["https://"]],
    ["links", [""]],
    ["links", Array.from({ length: 51 }, (_, number) => `https://example.com/${number}`)],
    ["added_aliases", [""]],
    ["added_aliases", [{ title: "x" }]],
    ["added_aliases", Array(201).fill("x")],
    ["removed_aliases", ["x"]],
    ["removed_aliases", [999_999_999]],
    ["added_descriptions", [{ description: "x" }]],
    ["added_descriptions", [{ description: "x".repeat(20_001), language: "English" }]],
    ["added_descriptions", [{ description: "x", language: "English", source: "x".repeat(256) }]],
    ["removed_descriptions", [999_999_999]],
    ["modified_descriptions", [{ description: "x" }]],
    ["modified_descriptions", [{ id: 999_999_999 }]],
    ["added_relations", [{ relation_id: 999_999_999, relation_type: "x" }]],
    ["added_relations", [{ relation_id: 1 }]],
    ["removed_relations", [{ id: 999_999_999 }]],
    ["modified_relations", [{ id: 999_999_999 }]],
  ])("answers 400 naming %s when it is %o, and changes nothing", async (parameter, value) => {
    const contributor = await aFullContributor();
    const good = { added_aliases: ["Good"], removed_descriptions: [contributor.description] };

    const reply = await unchanged(stack, () =>
      edit(contributor.id, { first_name: name(), ...good, [parameter]: value }),
    );

    expect([reply.status, reply.body]).toEqual([400, invalidParameter(parameter)]);
  });

  it("answers 200 to the maximum number of links and the maximum length of a source", async () => {
    const contributor = await aFullContributor();
    const links = Array.from({ length: 50 }, (_, number) => `https://example.com/${number}`);
    const source = "x".repeat(255);
    const added_descriptions = [{ description: "x".repeat(20_000), language: "English", source }];

    expect((await edit(contributor.id, { first_name: name(), links, added_descriptions })).status).toBe(200);
    const { links: shown, descriptions } = await detail(contributor);
    expect(shown).toHaveLength(50);
    expect(descriptions.at(-1)).toMatchObject({ source });
  });

  it("answers 400 to elements of another contributor, and to a relation to itself", async () => {
    const contributor = await aFullContributor();
    const other = await aFullContributor();

    for (const [parameter, value] of [
      ["removed_aliases", [other.alias]],
      ["removed_descriptions", [other.description]],
      ["modified_descriptions", [{ id: other.description, description: "Mine now" }]],
      ["removed_relations", [other.relation]],
      ["modified_relations", [{ id: other.relation, relation_type: "x" }]],
      ["added_relations", [{ relation_id: contributor.id, relation_type: "self" }]],
      ["modified_relations", [{ id: contributor.relation, relation_id: contributor.id }]],
    ] as const) {
      const reply = await unchanged(stack, () => edit(contributor.id, { first_name: name(), [parameter]: value }));
      expect(reply.body).toEqual(invalidParameter(parameter));
    }
  });

  it.each([
    ["descriptions", 40, (number: number) => ({ description: `Text ${number}`, language: "English" })],
    ["aliases", 200, (number: number) => `Alias ${number}`],
    ["relations", 100, (number: number) => ({ relation_id: other, relation_type: `friend ${number}` })],
  ])("answers 400 to more %s than %i, and counts what is removed", async (kind, most, element) => {
    const contributor = await aFullContributor();
    other = (await aContributor(stack.sql)).id;
    const added = Array.from({ length: most }, (_, number) => element(number));
    const change = (fields: object) => edit(contributor.id, { first_name: name(), ...fields });

    const tooMany = await unchanged(stack, () => change({ [`added_${kind}`]: added }));
    expect(tooMany.body).toEqual(invalidParameter(`added_${kind}`));

    const [first] = (await detail(contributor))[kind];
    expect((await change({ [`added_${kind}`]: added, [`removed_${kind}`]: [first.id] })).status).toBe(200);
    expect((await detail(contributor))[kind]).toHaveLength(most);
    if (kind !== "descriptions")
      expect((await change({ [`added_${kind}`]: [element(1), element(1)] })).status).toBe(200);
    expect((await detail(contributor))[kind]).toHaveLength(most);
  });

  it("answers 200 and adds no alias and no relation that is there already, nor one twice", async () => {
    const contributor = await aFullContributor();
    const first_name = name();
    const relation_id = contributor.friend.id;
    const relation = (relation_type: string) => ({ relation_id, relation_type });
    const same = {
      added_aliases: [`${first_name}  NEW`, "New", { name: "nEw" }, " alias ", "Alias  ", "Other"],
      added_relations: [relation("friend"), relation("teacher"), relation("friend"), relation("teacher")],
      modified_relations: [{ id: contributor.relation, relation_type: "teacher" }],
    };
    const edited = { first_name, last_name: "New" };

    expect((await edit(contributor.id, { ...edited, ...same })).status).toBe(200);
    const once = await detail(contributor);
    expect((await edit(contributor.id, { ...edited, ...same, added_relations: [relation("friend")] })).status).toBe(
      200,
    );

    expect(once.aliases.map((alias: { name: string }) => alias.name)).toEqual(["Alias", "New", "Other"]);
    expect(once.relations).toEqual([
      expect.objectContaining({ id: contributor.relation, ...relation("teacher") }),
      expect.objectContaining(relation("friend")),
    ]);
    expect(await detail(contributor)).toEqual(once);
    expect(await stack.sql`select version from contributors where id = ${contributor.id}`).toEqual([{ version: 2 }]);
  });

  it("answers 200 and adds an alias and a relation again that it removes", async () => {
    const contributor = await aFullContributor();
    const relation = { relation_id: contributor.friend.id, relation_type: "friend" };
    const body = { removed_aliases: [contributor.alias], removed_relations: [contributor.relation] };

    await edit(contributor.id, { first_name: name(), ...body, added_aliases: ["ALIAS"], added_relations: [relation] });

    const { aliases, relations } = await detail(contributor);
    expect(aliases).toEqual([{ id: expect.any(Number), name: "ALIAS" }]);
    expect(relations).toEqual([expect.objectContaining(relation)]);
  });

  it("answers 200 and stores the English names of languages, given by code, or by name in any case", async () => {
    const contributor = await aFullContributor();
    await edit(contributor.id, {
      first_name: name(),
      added_descriptions: ["de", "english", "norwegian BOKMÅL", "cOCKNEY"].map((language) => ({
        description: "Neu",
        language,
      })),
    });
    await edit(contributor.id, {
      first_name: name(),
      modified_descriptions: [{ id: contributor.description, language: "ja" }],
    });

    const { descriptions } = await detail(contributor);
    expect(descriptions.map(({ language }: { language: string }) => language)).toEqual([
      "Japanese",
      "German",
      "English",
      "Norwegian Bokmål",
      "cOCKNEY",
    ]);
  });

  it("answers 409 to another's name, whatever its case and space, and changes nothing", async () => {
    const taken = name();
    await aContributor(stack.sql, { first_name: taken });
    const contributor = await aFullContributor();

    for (const body of [{ first_name: taken }, { first_name: ` ${taken.toUpperCase()} `, last_name: "" }]) {
      const reply = await unchanged(stack, () => edit(contributor.id, { ...body, added_aliases: ["x"] }));
      expect([reply.status, reply.body]).toEqual([409, envelope(409, "Contributor with this Name exists already.")]);
    }
    expect((await edit(contributor.id, { first_name: taken, last_name: "Junior" })).status).toBe(200);
  });
});
