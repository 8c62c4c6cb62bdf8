import { beforeEach, describe, expect, it } from "vitest";
import { useHolder } from "../support/callers.ts";
import { aContributor, aSeries, aWholeContributor, type Entry } from "../support/catalogue.ts";
import { envelope, invalidParameter } from "../support/envelope.ts";
import { invoke } from "../support/invoke.ts";
import { aUser } from "../support/people.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
const editor = useHolder(
  stack,
  ...(["view-contributors", "add-contributors", "edit-contributors", "delete-contributors"] as const),
);

type Query = Readonly<Record<string, string | number>>;
const get = async (name: string, query: Query, id = 0) =>
  (await editor.call(`admin-contributors/${name}`, { path: { id }, query })).body;
const lock = ({ id }: Entry, holder: { id: number }) =>
  stack.sql`insert into contributor_locks values (${id}, ${holder.id}, now() + interval '5 minutes')`;
const name = () => `Name ${crypto.randomUUID()}`;

describe("GET /admin-contributors", () => {
  beforeEach(() => stack.sql`delete from contributors`);
  const list = (query: Query = {}) => get("list", { client: 1, ...query });

  it("returns 200 with every field, unpublished ones included", async () => {
    const hidden = await aContributor(stack.sql, { first_name: "A", public: false, client_id: 1 });
    const shown = await aContributor(stack.sql, { first_name: "B", last_name: "One", image: "avatars/one.webp" });

    const image = "https://images.example.com/avatars/one.webp";
    expect(await list()).toEqual({
      contributors: [
        { ...hidden, first_name: "A", last_name: "", image: "" },
        { ...shown, first_name: "B", last_name: "One", image },
      ],
      max: 2,
      from: 0,
      to: 2,
    });
  });

  describe("with include", () => {
    let own: Entry;
    let other: { readonly id: number; readonly username: string };
    const [type, visibility, client] = Object.entries({ type: "author", public: false, client: 1 });
    const lockedBy = () => ["locked_by", { id: other.id, username: other.username }];
    /** The fields behind those of the interface. */
    const listed = async (include: string, query = {}) =>
      (await list({ include, ...query })).contributors.map((each: object) => Object.entries(each).slice(5));
    const detailed = async (include: string) => Object.entries(await get("id", { include }, own.id)).slice(10);

    beforeEach(async () => {
      own = await aContributor(stack.sql, { first_name: "A", type: "author", public: false, client_id: 1 });
      await aContributor(stack.sql, { first_name: "B" });
      other = await aUser(stack.sql);
      await lock(own, other);
    });

    it("returns 200 with type, visibility and client, before who is editing", async () => {
      expect(await listed("client,public,type")).toEqual([
        [type, visibility, client, lockedBy()],
        Object.entries({ type: "", public: true, client: null }),
      ]);
    });

    it("returns 200 with one field of what a search finds", async () => {
      expect(await listed("public", { search: "b" })).toEqual([[["public", true]]]);
    });

    it("returns 200 without further fields where it is empty", async () => {
      expect(await listed("")).toEqual([[lockedBy()], []]);
    });

    it.each([
      { include: "client,public,type,public", fields: [type, visibility, client] },
      { include: "type", fields: [type] },
      { include: "", fields: [] },
    ])("returns 200 with these fields of the detail: $include", async ({ include, fields }) => {
      expect(await detailed(include)).toEqual(fields);
    });
  });
});

it("GET /admin-contributors/id/{id} returns 200 with every field, relations to unpublished contributors included", async () => {
  const { friend, description, alias, relation, ...ada } = await aWholeContributor(stack.sql);
  await stack.sql`update contributors set public = false, first_name = 'Hidden' where id = ${friend.id}`;
  await stack.sql`insert into contributor_links values (${ada.id}, 0, 'https://example.com/ada')`;
  const related = { relation_id: friend.id, relation_type: "friend", slug: friend.slug };

  expect(await get("id", {}, ada.id)).toEqual({
    ...ada,
    first_name: expect.stringMatching(/^Contributor /),
    last_name: "Old",
    image: "",
    gender: "male",
    links: [{ url: "https://example.com/ada", domain: "example.com" }],
    aliases: [{ id: alias, name: "Alias" }],
    descriptions: [{ id: description, description: "Old text", language: "English", source: "Wikipedia" }],
    relations: [{ id: relation, ...related, name: "Hidden", first_name: "Hidden", last_name: "" }],
  });
});

describe("POST /admin-contributors/add", () => {
  const add = (body: unknown, query: Query = {}) => editor.call("admin-contributors/add", { body, query });
  const newest = () => stack.sql`
    select first_name, last_name, slug, public, client_id from contributors order by id desc limit 1
  `;
  const added = envelope(200, "Contributor added");

  it("returns 200 and adds an unpublished contributor that all clients share", async () => {
    const forged = { public: true, id: 77, slug: "mine" };

    const { body } = await add({ first_name: " Émile ", last_name: "Zola", ...forged });

    expect(body).toEqual(added);
    const zola = { first_name: "Émile", last_name: "Zola", slug: "emile-zola", public: false, client_id: null };
    expect(await newest()).toEqual([zola]);
  });

  it("returns 200 and adds a client's own contributor", async () => {
    const { body } = await add({ first_name: "株式会社" }, { client: 2 });

    expect(body).toEqual(added);
    const company = { first_name: "株式会社", last_name: null, slug: "contributor", public: false, client_id: 2 };
    expect(await newest()).toEqual([company]);
  });

  it("returns 400 for a client that does not exist", async () => {
    expect((await add({ first_name: "Ann" }, { client: 99 })).body).toEqual(invalidParameter("client"));
  });
});

describe("Contributors of one name", () => {
  const [first_name, last_name, taken] = ["John", "Smith", envelope(409, "Contributor with this Name exists already.")];
  const add = async (body = {}) =>
    (await editor.call("admin-contributors/add", { body: { first_name, last_name, ...body } })).body;
  const patch = async (id: number, body: object) =>
    (
      await editor.call("admin-contributors/edit", {
        path: { id },
        body,
        headers: { "Content-Type": "application/merge-patch+json" },
      })
    ).body;

  beforeEach(() => stack.sql`delete from contributors`);

  it("are told apart by their disambiguation, which stands behind the name in the slug", async () => {
    for (const disambiguation of ["", "poet", "poet, 1950"])
      expect(await add({ disambiguation })).toEqual(envelope(200, "Contributor added"));

    const { contributors } = await get("list", { client: 1, include: "disambiguation" });

    expect(contributors).toMatchObject([
      { slug: "john-smith", disambiguation: "" },
      { slug: "john-smith-poet", disambiguation: "poet" },
      { slug: "john-smith-poet-1950", disambiguation: "poet, 1950" },
    ]);
  });

  it.each([
    { what: "without a disambiguation", body: {} },
    { what: "with null as disambiguation", body: { disambiguation: null } },
    { what: "with the same disambiguation in another case", body: { disambiguation: " POET " } },
    { what: "with the same name in another case", body: { first_name: "JOHN" } },
  ])("cannot be added twice $what: 409", async ({ body }) => {
    await add();
    await add({ disambiguation: "poet" });

    expect(await add(body)).toEqual(taken);
  });

  describe("when one is edited", () => {
    let id: number;
    let other: number;
    const shown = async () => (await get("id", { include: "disambiguation" }, id)).disambiguation;
    const edit = async (body: object) => (await editor.call("admin-contributors/edit", { path: { id }, body })).body;
    const updated = envelope(200, "Contributor updated");

    beforeEach(async () => {
      id = (await aContributor(stack.sql, { first_name, last_name, disambiguation: "poet" })).id;
      other = (await aContributor(stack.sql, { first_name, last_name })).id;
    });

    it("keep what a merge patch leaves out", async () => {
      expect(await patch(id, { gender: "male" })).toEqual(updated);

      expect(await shown()).toBe("poet");
    });

    it("get another disambiguation", async () => {
      expect(await patch(id, { disambiguation: "painter" })).toEqual(updated);

      expect(await shown()).toBe("painter");
    });

    it("lose the disambiguation that a plain edit leaves out, if another name tells them apart", async () => {
      expect(await edit({ first_name, last_name: "Jones" })).toEqual(updated);

      expect(await shown()).toBe("");
    });

    it.each([
      { what: "a merge patch that empties it", act: () => patch(id, { disambiguation: null }) },
      { what: "a plain edit that leaves it out", act: () => edit({ first_name, last_name }) },
      { what: "a merge patch that gives it to the other one", act: () => patch(other, { disambiguation: "Poet" }) },
    ])("cannot lose what tells them apart by $what: 409", async ({ act }) => {
      expect(await act()).toEqual(taken);

      expect(await shown()).toBe("poet");
    });
  });

  it("are shown with it on request, by public endpoints, too", async () => {
    const { slug } = await aContributor(stack.sql, { first_name, last_name, disambiguation: "poet", public: true });
    const detail = async (query: Query) => (await stack.call("contributor/slug", { path: { slug }, query })).body;
    const list = async (query: Query) =>
      (await stack.call("contributors/list", { query: { client: 1, ...query } })).body.contributors[0];

    for (const read of [detail, list]) {
      expect(await read({ include: "disambiguation" })).toEqual({ ...(await read({})), disambiguation: "poet" });
      expect(await read({})).not.toHaveProperty("disambiguation");
    }
  });
});

describe("POST /admin-contributors/edit/{id}", () => {
  const edit = ({ id }: Entry, body: object) =>
    editor.call("admin-contributors/edit", { path: { id }, body: { first_name: name(), ...body } });
  const saved = async (entry: Entry, fields: object) => {
    expect((await edit(entry, fields)).body).toEqual(envelope(200, "Contributor updated"));
    return await get("id", { include: "type,public" }, entry.id);
  };
  const whole = () => aWholeContributor(stack.sql);

  it.each([
    { what: "all fourteen fields at once", last_name: "New" },
    { what: "all fields but its names", last_name: "Old" },
  ])("returns 200 and changes $what", async ({ last_name }) => {
    const [contributor, other] = [await whole(), await whole()];
    const { first_name } = last_name === "Old" ? await get("id", {}, contributor.id) : { first_name: name() };

    const shown = await saved(contributor, {
      first_name: `  ${first_name} `,
      last_name,
      gender: "female",
      type: "artist",
      links: ["example.com/a?utm_source=x", "HTTP://Example.com:80/./b/", "https://example.com/a?utm_source=%78"],
      public: false,
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
      last_name,
      slug: contributor.slug,
      gender: "female",
      links: [
        { url: "https://example.com/a?utm_source=x", domain: "example.com" },
        { url: "http://example.com/b/", domain: "example.com" },
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
      type: "artist",
      public: false,
    });
    const untouched = { aliases: [{ id: other.alias }], relations: [{ id: other.relation }] };
    expect(await get("id", {}, other.id)).toMatchObject(untouched);
  });

  it("returns 200 to links as strings and as the objects that the detail shows, and keeps them as they were", async () => {
    const contributor = await whole();
    const [one, other] = ["https://example.com/a?b=%C3%A9", "http://www.example.org/"];

    const { links } = await saved(contributor, { links: [{ url: one }, other, { url: `${other}.`, domain: 5 }] });

    expect(links).toEqual([
      { url: one, domain: "example.com" },
      { url: other, domain: "example.org" },
    ]);
    expect((await saved(contributor, { links })).links).toEqual(links);
  });

  const kept = undefined;

  it.each([
    { what: "escapes that are no UTF-8", link: "https://example.jp/?kw=%C3%C0%CE%C4", stored: kept },
    {
      what: "the order of parameters, slashes and www",
      link: "http://www.example.com/b//?z=1&a=&a#x",
      stored: kept,
    },
    { what: "escapes of reserved characters", link: "https://example.com/a%2Fb%3F?c=%26%2B+%20", stored: kept },
    { what: "incomplete escapes", link: "https://example.com/100%?a=%%34%31", stored: kept },
    { what: "the end of a path, and an empty query", link: "https://example.com/a/?", stored: kept },
    { what: "the case of a DNS", link: "HTTPS://EXAMPLE.com/", stored: "https://example.com/" },
    { what: "escapes in upper case", link: "https://example.com/%c3%a9", stored: "https://example.com/%C3%A9" },
    {
      what: "unreserved characters without escapes",
      link: "https://example.com/%7Euser%2ehtm%6C",
      stored: "https://example.com/~user.html",
    },
    { what: "no default port", link: "https://example.com:443/a", stored: "https://example.com/a" },
    { what: "no dot segments", link: "https://example.com/a/./b/../c", stored: "https://example.com/a/c" },
    {
      what: "letters in escapes of UTF-8",
      link: "https://example.com/Ä?ö=ü",
      stored: "https://example.com/%C3%84?%C3%B6=%C3%BC",
    },
    { what: "a slash as an empty path", link: "example.com:8080", stored: "https://example.com:8080/" },
    {
      what: "apostrophes and their escapes",
      link: "https://example.com/it's?a='b'&c=%27%20d#'e'?'f'",
      stored: kept,
    },
    {
      what: "no invisible marks of a copied address",
      link: "\ufeff\u200ehttps://example.com/\u200b",
      stored: "https://example.com/",
    },
  ])("returns 200 and stores a link with $what", async ({ link, stored = link }) => {
    const { links } = await saved(await whole(), { links: [link] });

    expect(links.map(({ url }: { url: string }) => url)).toEqual([stored]);
  });

  it("returns 200 and shows the host of a link in Unicode", async () => {
    const hosts = ["münchen.de", "例え.テスト", "президент.рф", "faß.example", "www.bücher.example:8080"];

    const { links } = await saved(await whole(), { links: hosts.map((host) => `https://${host}/`) });

    expect(links).toEqual(
      hosts.map((host) => ({
        url: new URL(`https://${host}/`).href,
        domain: host.replace(/^www\.|:\d+$/g, ""),
      })),
    );
  });

  describe("with a description of each language and source", () => {
    const german = { description: "Zeichner", language: "de-DE", source: "Verlag" };
    let contributor: Entry;
    /** The id of the English one. */
    let description: number;
    const stored = async () => (await get("id", {}, contributor.id)).descriptions;

    beforeEach(async () => {
      ({ description, ...contributor } = await whole());
      await saved(contributor, { added_descriptions: [german] });
    });

    it("returns 200 and adds one of a variety, one of the language alone, and one of another source", async () => {
      const others = [
        { ...german, language: "pt-BR" },
        { ...german, language: "pt" },
        { ...german, source: "" },
      ];

      const { descriptions } = await saved(contributor, { added_descriptions: others });

      expect(descriptions.map((each: { language: string }) => each.language)).toEqual([
        ...["English", "German", "Brazilian Portuguese", "Portuguese", "German"],
      ]);
    });

    it.each(["de-DE", "ger"])("returns 200 and adds nothing for the same text in %s", async (language) => {
      const before = await stored();

      expect((await saved(contributor, { added_descriptions: [{ ...german, language }] })).descriptions).toEqual(
        before,
      );
    });

    it("returns 200 and replaces one that it removes", async () => {
      const [, { id }] = await stored();
      const other = { ...german, description: "Other" };

      const { descriptions } = await saved(contributor, { removed_descriptions: [id], added_descriptions: [other] });

      expect(descriptions).toMatchObject([{ id: description }, { language: "German", description: "Other" }]);
    });

    it("returns 200 and changes the text of one", async () => {
      const { descriptions } = await saved(contributor, {
        modified_descriptions: [{ id: description, description: "Longer" }],
      });

      expect(descriptions[0]).toMatchObject({ id: description, description: "Longer" });
    });

    const second = (language: string) => ({ ...german, language, description: "Other" });

    it.each([
      ...["ger", "deu", "Deutsch", "GERMAN"].map((language) => ({
        what: `another text in ${language}`,
        field: "added_descriptions",
        values: () => [second(language)],
      })),
      {
        what: "two new ones of one language",
        field: "added_descriptions",
        values: () => ["fr", "français"].map((language) => ({ description: language, language })),
      },
      {
        what: "one that gets the language and source of another",
        field: "modified_descriptions",
        values: () => [{ id: description, language: "de_DE", source: "verlag" }],
      },
    ])("returns 400 to $what, and changes nothing", async ({ field, values }) => {
      const before = await stored();

      const { body, headers } = await edit(contributor, { [field]: values() });

      expect(body).toEqual(invalidParameter(field));
      expect(headers.get("invalid-parameters")).toBe(`${field};reason="repeated"`);
      expect(await stored()).toEqual(before);
    });
  });

  it("returns 200 and sets missing fields to their defaults", async () => {
    const { id, slug, alias, description, relation } = await whole();
    await edit({ id, slug }, { links: ["https://example.com"], public: true });

    const shown = await saved({ id, slug }, { links: null, id: 1, slug: "mine", __proto__: { public: true } });

    expect(shown).toMatchObject({ id, slug, last_name: "", gender: "", links: [], type: "", public: false });
    const { aliases, descriptions, relations } = shown;
    expect([aliases, descriptions, relations]).toMatchObject([
      [{ id: alias }],
      [{ id: description }],
      [{ id: relation }],
    ]);
  });

  it("returns 200 and removes what it also modifies", async () => {
    const { description, relation, alias: _, friend: __, ...contributor } = await whole();

    const shown = await saved(contributor, {
      modified_descriptions: [{ id: description, description: "x" }],
      removed_descriptions: [{ id: description }],
      modified_relations: [{ id: relation, relation_type: "x" }],
      removed_relations: [relation],
    });

    expect(shown).toMatchObject({ descriptions: [], relations: [] });
  });

  it("returns 200 and adds an alias and a relation again that it removes", async () => {
    const { alias, relation, friend, description: _, ...contributor } = await whole();
    const former = { relation_id: friend.id, relation_type: "friend" };

    const shown = await saved(contributor, {
      removed_aliases: [{ id: String(alias) }],
      added_aliases: ["ALIAS"],
      removed_relations: [relation],
      added_relations: [former],
    });

    expect(shown).toMatchObject({ aliases: [{ name: "ALIAS" }], relations: [former] });
  });

  it("returns 200 and makes the other edits if an element to remove is gone already", async () => {
    const { alias, description, relation, friend: _, ...contributor } = await whole();
    const removal = { removed_aliases: [alias], removed_descriptions: [description], removed_relations: [relation] };
    await saved(contributor, removal);

    const shown = await saved(contributor, { ...removal, gender: "female" });

    expect(shown).toMatchObject({ gender: "female", aliases: [], descriptions: [], relations: [] });
  });

  it("returns 200 and drops the alias that becomes the name", async () => {
    const { alias, description: _, relation: __, friend: ___, ...contributor } = await whole();
    const { aliases } = await get("id", {}, contributor.id);
    const [{ name }] = aliases.filter(({ id }: { id: number }) => id === alias);

    const shown = await saved(contributor, { first_name: name.toUpperCase() });

    expect(shown.aliases).toEqual([]);
  });

  it("returns 200 and adds no alias that is there already, or is the name", async () => {
    const contributor = await whole();

    const { aliases } = await saved(contributor, {
      first_name: "Brand",
      last_name: "New",
      added_aliases: ["Brand  NEW", "New", { name: "nEw" }, " alias ", "Alias  ", "Other"],
    });

    expect(aliases.map((alias: { name: string }) => alias.name)).toEqual(["Alias", "New", "Other"]);
  });

  it("returns 200 and adds no relation that is there already", async () => {
    const contributor = await whole();
    const relation = (relation_type: string) => ({ relation_id: contributor.friend.id, relation_type });

    const { relations } = await saved(contributor, {
      added_relations: [relation("friend"), relation("teacher"), relation("friend"), relation("teacher")],
      modified_relations: [{ id: contributor.relation, relation_type: "teacher" }],
    });

    expect(relations).toEqual([
      expect.objectContaining({ id: contributor.relation, ...relation("teacher") }),
      expect.objectContaining(relation("friend")),
    ]);
  });

  it("returns 200 and makes no new version of a contributor that has all that it adds", async () => {
    const contributor = await whole();
    const { id } = contributor;
    const body = {
      first_name: name(),
      added_aliases: ["Other"],
      added_relations: [{ relation_id: contributor.friend.id, relation_type: "teacher" }],
    };
    const once = await saved(contributor, body);
    const version = () => stack.sql`select version from contributors where id = ${id}`;
    const before = await version();

    expect(await saved(contributor, { ...body, gender: once.gender, last_name: once.last_name })).toEqual(once);

    expect(await version()).toEqual(before);
  });

  it("returns 200 and stores the English names of languages", async () => {
    const contributor = await whole();
    const languages = ["de", "english", "norwegian BOKMÅL", "cOCKNEY"];
    await edit(contributor, { added_descriptions: languages.map((language) => ({ description: "Neu", language })) });

    const { descriptions } = await saved(contributor, {
      modified_descriptions: [{ id: contributor.description, language: "ja" }],
    });

    const shown = descriptions.map(({ language }: { language: string }) => language);
    expect(shown).toEqual(["Japanese", "German", "English", "Norwegian Bokmål", "cOCKNEY"]);
  });
});

/** No row refers to what is not there (REFERENCES), so nothing is left of it. */
it("DELETE /admin-contributors/delete/{id} deletes a contributor with all that a contributor can have", async () => {
  const { sql } = stack;
  const { id, slug, friend } = await aWholeContributor(sql);
  await aSeries(sql, { by: { id, slug } });
  await sql`insert into contributor_links values (${id}, 0, 'https://example.com')`;
  await sql`insert into contributor_relations (contributor_id, relation_id, relation_type) values (${friend.id}, ${id}, 'x')`;
  await lock({ id, slug }, editor);
  const remove = () => editor.call("admin-contributors/delete", { path: { id } });

  expect((await remove()).body).toEqual(envelope(200, "Contributor deleted"));
  expect(await sql`select from contributors where id = ${friend.id}`).toHaveLength(1);
  expect((await remove()).status).toBe(404);
});

async function slugsOf(...names: readonly string[]): Promise<string[]> {
  const slugs: string[] = [];
  for (const first_name of names) {
    const { status } = await editor.call("admin-contributors/add", { body: { first_name } });
    const [row] = await stack.sql`select slug from contributors where first_name = ${first_name}`;
    expect(status).toBe(200);
    slugs.push(row?.slug);
  }
  return slugs;
}

describe("A slug", () => {
  beforeEach(() => stack.sql`delete from contributors`);

  it.each([
    {
      what: "is the next one in the order of names, without gaps",
      names: ["Gap", "Gap!", "Gap?", "Gap.", "Gap,"],
      slugs: ["gap", "gap-2", "gap-3", "gap-4", "gap-5"],
    },
    {
      what: "is found after names without readable letters that end in the largest number",
      names: ["鳥山明", "Contributor 999999999", "尾田栄一郎", "手塚治虫"],
      slugs: ["contributor", "contributor-999999999", "contributor-2", "contributor-3"],
    },
  ])("$what", async ({ names, slugs }) => {
    expect(await slugsOf(...names)).toEqual(slugs);
  });

  it("is found where every power of two is taken, behind all that there are, and after numbers of any length", async () => {
    await stack.sql`
      insert into contributors (first_name, slug)
      select 'Power ' || power, 'power-' || trunc(2::numeric ^ power) from generate_series(1, 62) as power
      union all
      select 'Many ' || number, 'many-' || number from generate_series(2, 5000) as number
      union all
      values ('Power', 'power'), ('Many', 'many')
    `;

    const numbers = ["999999999", "9999999999", "99999999999999999999"];
    const slugs = await slugsOf(
      ...numbers.flatMap((each) => [`X${each}`, `X${each} ${each}`, `X${each}!`, `X${each}?`]),
    );

    expect(new Set(slugs).size).toBe(12);
    expect(await slugsOf("Power!", "Many!")).toEqual([expect.stringMatching(/^power-\d{18}$/), "many-5001"]);
  });

  it("is found for users by ops-create-user, whatever names there are", async () => {
    const slugs: string[] = [];
    for (const username of ["X", "X 999999999", "X!", "X?", "使用者", "利用者"]) {
      slugs.push((await invoke<{ slug: string }>(stack, "ops-create-user", { username })).slug);
    }

    expect(slugs).toEqual(["x", "x-999999999", "x-2", "x-3", "user", "user-2"]);
  });
});
