import { beforeEach, describe, expect, it } from "vitest";
import { useAdministrator, useHolder } from "../support/callers.ts";
import { aContributor, aSeries, type Entry } from "../support/catalogue.ts";
import { identifier } from "../support/database.ts";
import { envelope, invalidParameter } from "../support/envelope.ts";
import { aUser } from "../support/people.ts";
import { useStack } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";

const stack = useStack();
const editor = useHolder(
  stack,
  ...(["view-contributors", "add-contributors", "edit-contributors", "delete-contributors"] as const),
);
const administrator = useAdministrator(stack);

type Query = Readonly<Record<string, string | number>>;
const get = async (name: string, query: Query, id = 0) =>
  (await stack.call(`admin-contributors/${name}`, { as: editor.token, path: { id }, query })).body;
const lock = ({ id }: Entry, holder: { id: number }, minutes = 5) =>
  stack.sql`insert into contributor_locks values (${id}, ${holder.id}, now() + make_interval(mins => ${minutes}))`;
const name = () => `Name ${crypto.randomUUID()}`;

const taken = envelope(409, "Contributor with this Name exists already.");

describe("GET /admin-contributors", () => {
  beforeEach(() => stack.sql`delete from contributors`);
  const list = (query: Query = {}) => get("list", { client: 1, ...query });

  it("answers 200 with every field, unpublished ones included, and another person's lock", async () => {
    const hidden = await aContributor(stack.sql, { first_name: "A", public: false, client_id: 1 });
    const shown = await aContributor(stack.sql, { first_name: "B", last_name: "One", image: "avatars/one.webp" });
    const other = await aUser(stack.sql);
    await lock(hidden, editor);
    await lock(shown, other);
    await lock(await aContributor(stack.sql, { first_name: "C" }), other, -5);

    expect(await list()).toEqual({
      contributors: [
        { ...hidden, first_name: "A", last_name: "", image: "" },
        {
          ...shown,
          first_name: "B",
          last_name: "One",
          image: "https://images.example.com/avatars/one.webp",
          locked_by: { id: other.id, username: other.username },
        },
        expect.not.objectContaining({ locked_by: expect.anything() }),
      ],
      max: 3,
      from: 0,
      to: 3,
    });
  });

  it("answers 200 with type, visibility and client where they are included, before who is editing", async () => {
    const own = await aContributor(stack.sql, { first_name: "A", type: "author", public: false, client_id: 1 });
    await aContributor(stack.sql, { first_name: "B" });
    const other = await aUser(stack.sql);
    await lock(own, other);
    const included = async (include: string, query = {}) =>
      (await list({ include, ...query })).contributors.map((each: object) => Object.entries(each).slice(5));

    const locked = ["locked_by", { id: other.id, username: other.username }];
    expect(await included("client,public,type")).toEqual([
      [["type", "author"], ["public", false], ["client", 1], locked],
      Object.entries({ type: "", public: true, client: null }),
    ]);
    expect(await included("public", { search: "b" })).toEqual([[["public", true]]]);
    expect(await included("")).toEqual([[locked], []]);
  });
});

describe("GET /admin-contributors/id/{id}", () => {
  it("answers 200 with every field, relations to unpublished contributors included", async () => {
    const { sql } = stack;
    const hidden = await aContributor(sql, { first_name: "Hidden", public: false });
    const ada = await aContributor(sql, { first_name: "Ada", public: false });
    await sql`insert into contributor_links values (${ada.id}, 0, 'https://example.com/ada')`;
    const [relation] = await sql`
      insert into contributor_relations (contributor_id, relation_id, relation_type)
      values (${ada.id}, ${hidden.id}, 'mentor')
      returning id, relation_id, relation_type
    `;

    expect(await get("id", {}, ada.id)).toEqual({
      ...ada,
      first_name: "Ada",
      last_name: "",
      image: "",
      gender: "",
      links: [{ url: "https://example.com/ada", domain: "example.com" }],
      aliases: [],
      descriptions: [],
      relations: [{ ...relation, name: "Hidden", first_name: "Hidden", last_name: "", slug: hidden.slug }],
    });
  });

  it("answers 200 with what an edit sets and the interface does not show, where it is included", async () => {
    const fields = { type: "author and artist", public: false, client_id: 2 };
    const mangaka = await aContributor(stack.sql, fields);
    const plain = await aContributor(stack.sql);
    const included = async ({ id }: Entry, include: string) => {
      const { relations: _, ...before } = await get("id", {}, id);
      return Object.entries(await get("id", { include }, id)).slice(Object.keys(before).length + 1);
    };

    expect(await included(mangaka, "type,public,client")).toEqual([
      ["type", "author and artist"],
      ["public", false],
      ["client", 2],
    ]);
    expect(await included(plain, "client,public,type,public")).toEqual([
      ["type", ""],
      ["public", true],
      ["client", null],
    ]);
    expect(await included(mangaka, "public")).toEqual([["public", false]]);
    expect(await included(mangaka, "type")).toEqual([["type", "author and artist"]]);
    expect(await included(mangaka, "")).toEqual([]);
  });
});

describe("POST /admin-contributors/add", () => {
  const add = (body: unknown, query: Query = {}) =>
    stack.call("admin-contributors/add", { as: editor.token, body, query });

  it("answers 200 and adds an unpublished contributor, shared or a client's own", async () => {
    const forged = { public: true, id: 77, slug: "mine" };

    const { body } = await add({ first_name: " Émile ", last_name: "Zola", ...forged });
    await add({ first_name: "株式会社" }, { client: 2 });

    expect(body).toEqual(envelope(200, "Contributor added"));
    const rows = await stack.sql`
      select first_name, last_name, slug, public, client_id from contributors order by id desc limit 2
    `;
    expect(rows).toEqual([
      { first_name: "株式会社", last_name: null, slug: "contributor", public: false, client_id: 2 },
      { first_name: "Émile", last_name: "Zola", slug: "emile-zola", public: false, client_id: null },
    ]);
  });

  it("answers 400 to a last name that is no text, and to a missing client", async () => {
    expect((await add({ first_name: "Ann", last_name: 7 })).body).toEqual(invalidParameter("last_name"));
    expect((await add({ first_name: "Ann" }, { client: 99 })).body).toEqual(invalidParameter("client"));
  });

  it.each([
    ["\u0390", "\u0390".toUpperCase()],
    ["\u03b0", "\u03b0".toUpperCase()],
    ["\u00df", "SS"],
    ["\u0149", "\u0149".toUpperCase()],
    ["Ursula Le Guin", " URSULA", "le guin "],
    ["Hergé", "hergé", ""],
  ])(
    "answers 409 to the name of %s, whatever its case and space: %s %s",
    async (present, first_name, last_name = "") => {
      const [first = "", ...rest] = present.split(" ");
      expect((await add({ first_name: first, last_name: rest.join(" ") })).status).toBe(200);

      expect((await add({ first_name, last_name })).body).toEqual(taken);
      if (rest.length > 0) expect((await add({ first_name })).status).toBe(200);
    },
  );
});

describe("POST /admin-contributors/edit/{id}", () => {
  const edit = ({ id }: Entry, body: object, as = editor.token) =>
    stack.call("admin-contributors/edit", { as, path: { id }, body: { first_name: name(), ...body } });
  const saved = async (...request: Parameters<typeof edit>) => {
    const { body } = await edit(...request);
    expect(body).toEqual(envelope(200, "Contributor updated"));
    return await get("id", {}, request[0].id);
  };
  const hiddenFields = async ({ id }: Entry) =>
    (await stack.sql`select public, type, last_name from contributors where id = ${id}`)[0];

  /** A contributor with an alias, a description and a relation. */
  async function aFullContributor() {
    const { sql } = stack;
    const fields = { last_name: "Old", gender: "male", type: "author" };
    const [entry, friend] = [await aContributor(sql, fields), await aContributor(sql)];
    const one = async (rows: Promise<readonly { id?: number }[]>) => (await rows)[0]?.id ?? 0;
    return {
      ...entry,
      friend,
      alias: await one(
        sql`insert into contributor_aliases (contributor_id, name) values (${entry.id}, 'Alias') returning id`,
      ),
      description: await one(sql`
        insert into contributor_descriptions (contributor_id, language, description, source)
        values (${entry.id}, 'English', 'Old text', 'Wikipedia') returning id
      `),
      relation: await one(sql`
        insert into contributor_relations (contributor_id, relation_id, relation_type)
        values (${entry.id}, ${friend.id}, 'friend') returning id
      `),
    };
  }

  it("answers 200 and changes all fourteen fields at once", async () => {
    const [contributor, other] = [await aFullContributor(), await aFullContributor()];
    const first_name = name();

    const shown = await saved(contributor, {
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

    expect(shown).toMatchObject({
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
    expect(await hiddenFields(contributor)).toEqual({ public: true, type: "artist", last_name: "New" });
    const untouched = { aliases: [{ id: other.alias }], relations: [{ id: other.relation }] };
    expect(await get("id", {}, other.id)).toMatchObject(untouched);
  });

  it("answers 200 to links as strings and as the objects that the detail shows, and keeps them as they were", async () => {
    const contributor = await aFullContributor();
    const [one, other] = ["https://example.com/a?b=%C3%A9", "http://www.example.org"];

    const { links } = await saved(contributor, { links: [{ url: one }, other, { url: `${other}/`, domain: 5 }] });

    expect(links).toEqual([
      { url: one, domain: "example.com" },
      { url: other, domain: "example.org" },
    ]);
    expect((await saved(contributor, { links })).links).toEqual(links);
  });

  it("answers 200 and sets missing fields to their defaults", async () => {
    const contributor = await aFullContributor();
    await edit(contributor, { links: ["https://example.com"], public: true });

    const shown = await saved(contributor, { links: null, id: 1, slug: "mine", __proto__: { public: true } });

    expect(shown).toMatchObject({
      id: contributor.id,
      slug: contributor.slug,
      last_name: "",
      gender: "",
      links: [],
      aliases: [{ id: contributor.alias }],
      descriptions: [{ id: contributor.description }],
      relations: [{ id: contributor.relation }],
    });
    expect(await hiddenFields(contributor)).toEqual({ public: false, type: null, last_name: null });
  });

  it("answers 200 and removes elements that are both modified and removed, given by id or object", async () => {
    const { alias, description, relation, ...contributor } = await aFullContributor();

    const shown = await saved(contributor, {
      removed_aliases: [{ id: String(alias) }],
      modified_descriptions: [{ id: description, description: "x" }],
      removed_descriptions: [{ id: description }],
      modified_relations: [{ id: relation, relation_type: "x" }],
      removed_relations: [relation],
    });

    expect(shown).toMatchObject({ aliases: [], descriptions: [], relations: [] });
  });

  it("answers 200 to saving the same name again, and releases the caller's lock only", async () => {
    const contributor = await aFullContributor();
    const first_name = name();
    await edit(contributor, { first_name });
    await get("id", {}, contributor.id);
    const locks = () => stack.sql`select editor_id from contributor_locks where contributor_id = ${contributor.id}`;

    await edit(contributor, { first_name: first_name.toUpperCase() }, administrator.token);
    expect(await locks()).toEqual([{ editor_id: editor.id }]);
    expect((await edit(contributor, { first_name })).status).toBe(200);
    expect(await locks()).toEqual([]);
  });

  type Full = Awaited<ReturnType<typeof aFullContributor>>;
  const nothing = 999_999_999;
  type Wrong = string | number | readonly unknown[] | Readonly<Record<string, never>>;
  it.each<[string, Wrong | ((other: Full, own: Full) => Wrong)]>([
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
    ["added_aliases", [{ title: "x" }]],
    ["added_aliases", Array(201).fill("x")],
    ["removed_aliases", ["x"]],
    ["removed_aliases", [nothing]],
    ["removed_aliases", (other) => [other.alias]],
    ["added_descriptions", [{ description: "x" }]],
    ["removed_descriptions", [nothing]],
    ["removed_descriptions", (other) => [other.description]],
    ["modified_descriptions", [{ description: "x" }]],
    ["modified_descriptions", [{ id: nothing }]],
    ["modified_descriptions", (other) => [{ id: other.description, description: "Mine now" }]],
    ["added_relations", [{ relation_id: nothing, relation_type: "x" }]],
    ["added_relations", [{ relation_id: 1 }]],
    ["added_relations", (_, own) => [{ relation_id: own.id, relation_type: "self" }]],
    ["removed_relations", [{ id: nothing }]],
    ["removed_relations", (other) => [other.relation]],
    ["modified_relations", [{ id: nothing }]],
    ["modified_relations", (other) => [{ id: other.relation, relation_type: "x" }]],
    ["modified_relations", (_, own) => [{ id: own.relation, relation_id: own.id }]],
  ])("answers 400 naming %s when it is %o, and changes nothing", async (parameter, value) => {
    const [contributor, other] = [await aFullContributor(), await aFullContributor()];
    const good = { added_aliases: ["Good"], removed_descriptions: [contributor.description] };
    const wrong = typeof value === "function" ? value(other, contributor) : value;

    const { body } = await unchanged(stack, () => edit(contributor, { ...good, [parameter]: wrong }));

    expect(body).toEqual(invalidParameter(parameter));
  });

  it.each([
    ["descriptions", 40, (number: number) => ({ description: `Text ${number}`, language: "English" })],
    ["aliases", 200, (number: number) => `Alias ${number}`],
    ["relations", 100, (number: number, relation_id: number) => ({ relation_id, relation_type: `friend ${number}` })],
  ])("answers 400 to more %s than %i, and counts what is removed", async (kind, most, element) => {
    const [contributor, other] = [await aFullContributor(), await aContributor(stack.sql)];
    const elements = Array.from({ length: most }, (_, number) => element(number, other.id));
    const links = Array.from({ length: 50 }, (_, number) => `https://example.com/${number}`);

    const { body } = await unchanged(stack, () => edit(contributor, { [`added_${kind}`]: elements }));
    expect(body).toEqual(invalidParameter(`added_${kind}`));

    const [first] = (await get("id", {}, contributor.id))[kind];
    const full = await saved(contributor, { links, [`added_${kind}`]: elements, [`removed_${kind}`]: [first.id] });
    expect([full[kind].length, full.links.length]).toEqual([most, 50]);
    const again = kind === "descriptions" ? [] : [element(1, other.id), element(1, other.id)];
    expect((await saved(contributor, { [`added_${kind}`]: again }))[kind]).toHaveLength(most);
  });

  it("answers 200 and adds no alias and no relation that is there already, nor one twice", async () => {
    const contributor = await aFullContributor();
    const relation = (relation_type: string) => ({ relation_id: contributor.friend.id, relation_type });
    const body = {
      first_name: "Brand",
      last_name: "New",
      added_aliases: ["Brand  NEW", "New", { name: "nEw" }, " alias ", "Alias  ", "Other"],
      added_relations: [relation("friend"), relation("teacher"), relation("friend"), relation("teacher")],
      modified_relations: [{ id: contributor.relation, relation_type: "teacher" }],
    };

    const once = await saved(contributor, body);

    expect(once.aliases.map((alias: { name: string }) => alias.name)).toEqual(["Alias", "New", "Other"]);
    expect(once.relations).toEqual([
      expect.objectContaining({ id: contributor.relation, ...relation("teacher") }),
      expect.objectContaining(relation("friend")),
    ]);
    expect(await saved(contributor, { ...body, added_relations: [relation("friend")] })).toEqual(once);
    expect(await stack.sql`select version from contributors where id = ${contributor.id}`).toEqual([{ version: 2 }]);
  });

  it("answers 200 and adds an alias and a relation again that it removes", async () => {
    const { alias, relation, friend, ...contributor } = await aFullContributor();
    const former = { relation_id: friend.id, relation_type: "friend" };
    const removed = { removed_aliases: [alias], removed_relations: [relation] };

    const shown = await saved(contributor, { ...removed, added_aliases: ["ALIAS"], added_relations: [former] });

    expect(shown.aliases).toEqual([{ id: expect.any(Number), name: "ALIAS" }]);
    expect(shown.relations).toEqual([expect.objectContaining(former)]);
  });

  it("answers 200 and stores the English names of languages, given by code, or by name in any case", async () => {
    const contributor = await aFullContributor();
    const languages = ["de", "english", "norwegian BOKMÅL", "cOCKNEY"];
    await edit(contributor, { added_descriptions: languages.map((language) => ({ description: "Neu", language })) });

    const { descriptions } = await saved(contributor, {
      modified_descriptions: [{ id: contributor.description, language: "ja" }],
    });

    const shown = descriptions.map(({ language }: { language: string }) => language);
    expect(shown).toEqual(["Japanese", "German", "English", "Norwegian Bokmål", "cOCKNEY"]);
  });

  it("answers 409 to another's name, and 200 to the same first name with another last name", async () => {
    const first_name = name();
    await aContributor(stack.sql, { first_name });
    const contributor = await aFullContributor();

    for (const body of [{ first_name }, { first_name: ` ${first_name.toUpperCase()} `, last_name: "" }])
      expect((await unchanged(stack, () => edit(contributor, { ...body, added_aliases: ["x"] }))).body).toEqual(taken);
    expect(await saved(contributor, { first_name, last_name: "Junior" })).toMatchObject({ last_name: "Junior" });
  });
});

describe("DELETE /admin-contributors/delete/{id}", () => {
  it("answers 200, removes all that belongs to the contributor and lists its avatar for removal", async () => {
    const { sql } = stack;
    const friend = await aContributor(sql);
    const contributor = await aContributor(sql, { image: "avatars/gone.webp" });
    const { id } = contributor;
    await aSeries(sql, { by: contributor });
    await sql`insert into contributor_links values (${id}, 0, 'https://example.com')`;
    await sql`insert into contributor_aliases (contributor_id, name) values (${id}, 'x')`;
    await sql`insert into contributor_descriptions (contributor_id, language, description) values (${id}, 'English', 'x')`;
    await sql`
      insert into contributor_relations (contributor_id, relation_id, relation_type)
      values (${id}, ${friend.id}, 'x'), (${friend.id}, ${id}, 'x')
    `;
    await lock(contributor, editor);
    const remove = () => stack.call("admin-contributors/delete", { as: editor.token, path: { id } });

    expect((await remove()).body).toEqual(envelope(200, "Contributor deleted"));

    for (const table of ["links", "aliases", "descriptions", "relations", "locks"]) {
      const rows = await sql`select * from ${identifier(`contributor_${table}`)} where contributor_id = ${id}`;
      expect([table, ...rows]).toEqual([table]);
    }
    expect(await sql`select from contributor_relations where relation_id = ${id}`).toEqual([]);
    expect(await sql`select from series_contributors where contributor_id = ${id}`).toEqual([]);
    expect(await sql`select from contributors where id = ${friend.id}`).toHaveLength(1);
    const removals =
      await sql`select remove_after <= now() as due from images_to_remove where key = 'avatars/gone.webp'`;
    expect(removals).toEqual([{ due: true }]);
    expect((await remove()).status).toBe(404);
  });
});
