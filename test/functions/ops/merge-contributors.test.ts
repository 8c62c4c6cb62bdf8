import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { killBlocked } from "../../support/blocked.ts";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor, aSeries, type Columns, type Entry, relate } from "../../support/catalogue.ts";
import { differenceBy } from "../../support/difference.ts";
import "../../support/seed.ts";
import { operate } from "../../support/operate.ts";
import { useStack } from "../../support/stack.ts";
import { contents, latestChange, undone } from "../../support/undo.ts";

const stack = useStack();
const administrator = useAdministrator(stack);

/** Merges, and gives the result. */
const merge = (keep: Entry, merged: readonly Entry[], options: object = {}) =>
  operate(stack, "ops-merge-contributors", { keep: keep.id, merge: merged.map(({ id }) => id), ...options });

/** Checks that a merge is refused with this message, and changes nothing. */
async function expectRefused(keep: number, merge: readonly number[], message: string): Promise<void> {
  const merging = () => operate(stack, "ops-merge-contributors", { keep, merge });
  const difference = differenceBy(stack.sql, () => expect(merging()).rejects.toThrow(new Error(message)));
  expect(await difference).toEqual([]);
}

/** A contributor and what belongs to it, with its roles by the ids of series. Lists but for links have no order. */
interface Person {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly name: string;
  readonly aliases: readonly string[];
  readonly links: readonly string[];
  readonly descriptions: readonly { readonly language: string; readonly description: string }[];
  readonly relations: readonly (readonly [to: number, type: string])[];
  readonly roles: Readonly<Record<string, string | null>>;
  readonly slugs: readonly string[];
  readonly externalIds: readonly string[];
}
type People = Readonly<Record<number, Person>>;

/** All contributors by their ids. */
async function people(): Promise<People> {
  const rows = await stack.sql<{ id: number; person: Person }[]>`
    select id, jsonb_build_object(
      'fields', jsonb_build_object(
        'slug', slug, 'gender', gender, 'type', type, 'image', image, 'external_id', external_id, 'public', public
      ),
      'name', concat_ws(' ', first_name, last_name),
      'aliases', array(select name from contributor_aliases where contributor_id = contributors.id order by 1),
      'links', array(select url from contributor_links where contributor_id = contributors.id order by position),
      'descriptions', array(
        select jsonb_build_object('language', language, 'description', description) from contributor_descriptions
        where contributor_id = contributors.id order by 1
      ),
      'relations', array(
        select jsonb_build_array(relation_id, relation_type) from contributor_relations
        where contributor_id = contributors.id order by 1
      ),
      'roles', (
        select coalesce(jsonb_object_agg(series_id, role), '{}') from series_contributors
        where contributor_id = contributors.id
      ),
      'slugs', array(select slug from former_slugs where contributor_id = contributors.id order by 1),
      'externalIds', array(select external_id from former_external_ids where contributor_id = contributors.id order by 1)
    ) as person
    from contributors
  `;
  return Object.fromEntries(rows.map(({ id, person }) => [id, person]));
}
const person = async ({ id }: Entry) => (await people())[id] as Person;

const fold = (text: unknown) => JSON.stringify(text).replaceAll(/[ "]/g, "").toLowerCase();
const unique = <Value>(values: readonly Value[]): readonly Value[] =>
  values.filter((value, index) => values.findIndex((other) => fold(other) === fold(value)) === index);

/** What becomes of people when some are merged into one (lib/operators/README.md, "Merge"). */
function mergedPeople(all: People, keep: number, merge: readonly number[]): People {
  const isOne = (id: number) => id === keep || merge.includes(id);
  const [kept, ...others] = [keep, ...merge].map((id) => all[id]) as [Person, ...Person[]];
  const everybody = [kept, ...others];
  const first = (field: string) =>
    everybody
      .map(({ fields }) => fields[field])
      .find((value, place) => value !== null && (place === 0 || !String(value).startsWith("slug:"))) ?? null;
  const external_id = first("external_id");
  const names = [kept.name, ...kept.aliases, ...others.flatMap(({ name, aliases }) => [...aliases, name])];
  const led = Object.entries(all).map(([id, each]) => {
    const relations = each.relations.map(([to, type]) => [isOne(to) ? keep : to, type] as const);
    return [id, { ...each, relations: unique(relations) }] as const;
  });
  return {
    ...Object.fromEntries(led.filter(([id]) => !merge.includes(Number(id)))),
    [keep]: {
      name: kept.name,
      fields: { ...kept.fields, gender: first("gender"), type: first("type"), image: first("image"), external_id },
      aliases: unique(names).slice(1),
      links: unique(everybody.flatMap(({ links }) => links)),
      descriptions: everybody.flatMap(({ descriptions }, place) =>
        descriptions.filter(({ language }) => {
          const hasIt = (other: Person) => other.descriptions.some((each) => fold(each.language) === fold(language));
          return everybody.findIndex(hasIt) === place;
        }),
      ),
      relations: unique(everybody.flatMap(({ relations }) => relations)).filter(([to]) => !isOne(to)),
      roles: Object.fromEntries(everybody.toReversed().flatMap(({ roles }) => Object.entries(roles))),
      slugs: [...everybody.flatMap(({ slugs }) => slugs), ...others.map(({ fields }) => String(fields.slug))],
      externalIds: [
        // By which an export named it, while it had none.
        ...(kept.fields.external_id === external_id ? [] : [`slug:${kept.fields.slug}`]),
        ...everybody.flatMap(({ externalIds }) => externalIds),
        ...others
          .map(({ fields }) => fields.external_id)
          .filter((id) => id !== null && id !== external_id)
          .map(String),
      ],
    },
  };
}

/** The same with lists in one order. */
const inOrder = (all: People) =>
  JSON.parse(JSON.stringify(all), (name, value) =>
    Array.isArray(value) && name !== "links" ? value.map((each) => JSON.stringify(each)).sort() : value,
  );

const some = async (count: number, columns: Columns = {}) => {
  const entries = await Promise.all(Array.from({ length: count }, () => aContributor(stack.sql, columns)));
  return entries as [Entry, Entry, Entry];
};
const addAliases = ({ id }: Entry, ...names: readonly string[]) =>
  stack.sql`insert into contributor_aliases (contributor_id, name) select ${id}, unnest(${names}::text[])`;
const addLinks = ({ id }: Entry, ...urls: readonly string[]) => stack.sql`
  insert into contributor_links (contributor_id, position, url)
  select ${id}, position - 1, url from unnest(${urls}::text[]) with ordinality as link (url, position)
`;
const describeIn = ({ id }: Entry, language: string, description: string) => stack.sql`
  insert into contributor_descriptions (contributor_id, language, description, source)
  values (${id}, ${language}, ${description}, 'A source')
`;
const work = ({ id }: Entry, series: Entry, role: string | null) =>
  stack.sql`insert into series_contributors (contributor_id, series_id, role) values (${id}, ${series.id}, ${role})`;

const lookUp = (slug: string, headers: Record<string, string> = {}) =>
  stack.call("contributor/slug", { path: { slug }, headers });

/** Few values, so that they meet. */
const word = fc.constantFrom("Ada", "ADA", "Bea", " bea", "Cy", "漢");
const place = fc.nat(5);
const list = <Value>(values: fc.Arbitrary<Value>, maxLength = 4) =>
  fc.uniqueArray(values, { maxLength, selector: fold });
const drawn = fc.record({
  columns: fc.record({ gender: fc.option(word), type: fc.option(word) }),
  externalId: fc.constantFrom(
    null,
    (slug: string) => `slug:${slug}`,
    () => randomUUID(),
  ),
  aliases: list(fc.oneof(word, fc.constantFrom("Name 0", "NAME 1", "Name 2"))),
  links: list(fc.constantFrom(..."abcd")),
  descriptions: fc.array(fc.tuple(fc.constantFrom("English", "german", "German"), word), { maxLength: 3 }),
  relations: list(fc.tuple(place, fc.constantFrom("friend", "pupil"))),
  roles: fc.dictionary(fc.constantFrom("0", "1"), fc.option(fc.constantFrom("", "story", "Story", "story and art"))),
});
const steps = fc.array(fc.tuple(place, list(place, 3)), { minLength: 1, maxLength: 3 });

async function add(
  everybody: readonly (typeof drawn extends fc.Arbitrary<infer Value> ? Value : never)[],
): Promise<readonly Entry[]> {
  await stack.sql`truncate contributors, series, changes, history, images_to_remove, counters cascade`;
  const series = await Promise.all([aSeries(stack.sql), aSeries(stack.sql)]);
  const entries: Entry[] = [];
  for (const [index, { columns, externalId }] of everybody.entries()) {
    const slug = `person-${index}`;
    // Two avatars could not be undone: one is removed, and this stack has no uploads.
    const image = index === 1 ? `avatars/${randomUUID()}.webp` : null;
    const more = { image, external_id: externalId?.(slug) ?? null };
    entries.push(await aContributor(stack.sql, { first_name: `Name ${index}`, slug, ...columns, ...more }));
  }
  for (const [index, { aliases, links, descriptions, relations, roles }] of everybody.entries()) {
    const entry = entries[index] as Entry;
    await addAliases(entry, ...aliases.filter((alias) => fold(alias) !== fold(`Name ${index}`)));
    await addLinks(entry, ...links.map((host) => `https://${host}.example`));
    for (const [language, description] of descriptions) await describeIn(entry, language, description);
    for (const [to, type] of relations) if (to !== index) await relate(stack.sql, entry, entries[to] as Entry, type);
    for (const [number, role] of Object.entries(roles)) await work(entry, series[Number(number)] as Entry, role);
  }
  return entries;
}

describe("ops-merge-contributors", () => {
  it("moves what the model says, returns it, also of a dry run, and is undone and made again", async () => {
    const property = fc.asyncProperty(fc.array(drawn, { minLength: 6, maxLength: 6 }), steps, async (all, merges) => {
      const entries = await add(all);
      const done: { readonly before: unknown; readonly after: unknown; readonly change: number }[] = [];
      for (const [keep, others] of merges) {
        const before = await people();
        const [kept, ...merged] = unique([keep, ...others]).map((index) => entries[index] as Entry);
        if (!kept || merged.length === 0 || [kept, ...merged].some(({ id }) => !before[id])) continue;
        const rows = await contents(stack.sql);
        const tried = await merge(kept, merged, { dryRun: true });
        expect(await contents(stack.sql)).toEqual(rows);
        const result = await merge(kept, merged);
        const { added, filled, change } = result;
        const { what, ...same } = tried;
        expect(what).toContainEqual(expect.stringMatching(/: deleted$/));
        expect({ ...same, change }).toEqual(result);
        const after = await people();
        done.push({ before: rows, after: await contents(stack.sql), change });

        const ids = merged.map(({ id }) => id);
        expect(inOrder(after)).toEqual(inOrder(mergedPeople(before, kept.id, ids)));
        const [was, is] = [before[kept.id], after[kept.id]] as [Person, Person];
        expect({ ...was.fields, ...filled }).toEqual(is.fields);
        expect(added).toMatchObject({
          aliases: { length: is.aliases.length - was.aliases.length },
          links: is.links.slice(was.links.length),
          descriptions: { length: is.descriptions.length - was.descriptions.length },
          series: Object.keys(is.roles).length - Object.keys(was.roles).length,
        });
      }
      for (const { before, after, change } of done.toReversed()) {
        const undoing = await undone(stack, change);
        expect(await contents(stack.sql)).toEqual(before);
        const redo = await undone(stack, undoing);
        expect(await contents(stack.sql)).toEqual(after);
        await undone(stack, redo);
      }
    });
    await fc.assert(property, { numRuns: Number(process.env.COLOPHON_MERGE_RUNS ?? 15) });
  });

  it("says in a dry run which texts go, and removes an avatar that goes", async () => {
    const kept = await aContributor(stack.sql, { image: `avatars/${randomUUID()}.webp` });
    const image = `avatars/${randomUUID()}.webp`;
    const one = await aContributor(stack.sql, { first_name: "Gone", image });
    const series = await aSeries(stack.sql);
    await describeIn(kept, "English", "kept");
    await describeIn(one, "english", "what goes");
    await work(kept, series, "story");
    await work(one, series, "art");

    const { what } = await merge(kept, [one], { dryRun: true });

    expect(what).toContainEqual(expect.stringMatching(/Gone: - description .*"what goes"/));
    expect(what).toContainEqual(expect.stringMatching(/ taken: .*"art"/));
    await merge(kept, [one]);
    expect((await person(kept)).roles).toEqual({ [series.id]: "story" });
    expect(await stack.sql`select from images_to_remove where key = ${image}`).toHaveLength(1);
  });

  it("gives the kept one an image with its size, and leaves an image of its own with that", async () => {
    const [key, other] = [`avatars/${randomUUID()}.webp`, `avatars/${randomUUID()}.webp`];
    const [bare, own] = [
      await aContributor(stack.sql, { image_size: "9x9" }),
      await aContributor(stack.sql, { image: other, image_size: "300x200" }),
    ];
    const sizeless = await aContributor(stack.sql, { image_size: "8x8" });
    const given = await aContributor(stack.sql, { image: key, image_size: "100x50" });
    const stored = async ({ id }: Entry) =>
      (await stack.sql`select image, image_size from contributors where id = ${id}`)[0];

    await merge(bare, [sizeless, given]);
    expect(await stored(bare)).toEqual({ image: key, image_size: "100x50" });
    await merge(own, [bare]);
    expect(await stored(own)).toEqual({ image: other, image_size: "300x200" });
  });

  it("warns of a name that is not published, and becomes an alias of a contributor who is", async () => {
    const kept = await aContributor(stack.sql, { public: true });
    const hidden = await aContributor(stack.sql, { public: false, first_name: "Jane", last_name: "Roe" });
    const shown = await aContributor(stack.sql, { public: true });

    const warning = `The name Jane Roe, which is not published, becomes an alias of contributor ${kept.id}, who is`;
    expect((await merge(kept, [hidden, shown], { dryRun: true })).warnings).toEqual([warning]);
    expect((await merge(hidden, [shown])).warnings).toEqual([]);
  });

  it("keeps the disambiguation and the sort name of the kept one, and warns of others, which are lost", async () => {
    const kept = await aContributor(stack.sql, { disambiguation: "", sort_name: "Roe" });
    const columns = { first_name: "Jane", disambiguation: "painter", sort_name: "Doe" };
    const painter = await aContributor(stack.sql, columns);
    const same = await aContributor(stack.sql, { sort_name: "Roe" });

    const { warnings } = await merge(kept, [same, painter], { dryRun: true });

    expect(warnings).toEqual([
      `The disambiguation "painter" of contributor ${painter.id} is lost: contributor ${kept.id} keeps its own`,
      `The sort name "Doe" of contributor ${painter.id} is lost: contributor ${kept.id} keeps its own`,
    ]);
    await merge(kept, [same, painter]);
    expect(await stack.sql`select disambiguation, sort_name from contributors where id = ${kept.id}`).toEqual([
      { disambiguation: "", sort_name: "Roe" },
    ]);
  });
});

describe("ops-merge-contributors refuses, and changes nothing,", () => {
  it.each([
    { what: "nobody", keep: 1, merge: [], message: "Invalid payload: merge: Nobody is there" },
    { what: "one that does not exist", keep: 1, merge: [999_999], message: "Contributor 999999 does not exist" },
    { what: "into one that does not exist", keep: 999_999, merge: [1], message: "Contributor 999999 does not exist" },
    { what: "itself", keep: 1, merge: [1], message: "Invalid payload: merge: The kept one is there, too" },
    { what: "the same one twice", keep: 1, merge: [2, 2], message: "Invalid payload: merge: An id is there twice" },
  ])("$what", async ({ keep, merge, message }) => {
    await stack.sql`
      insert into contributors (id, first_name, slug) overriding system value values (1, 'One', 'one')
      on conflict do nothing
    `;

    await expectRefused(keep, merge, message);
  });

  it.each([
    {
      what: "a client's contributor with a shared one",
      keptOf: null,
      mergedOf: 1,
      message: "is shared by all clients, but contributor %s belongs to client 1",
    },
    {
      what: "a shared contributor with a client's",
      keptOf: 1,
      mergedOf: null,
      message: "belongs to client 1, but contributor %s is shared by all clients",
    },
    {
      what: "contributors of two clients",
      keptOf: 1,
      mergedOf: 2,
      message: "belongs to client 1, but contributor %s belongs to client 2",
    },
  ])("$what", async ({ keptOf, mergedOf, message }) => {
    const [kept, same] = await some(2, { client_id: keptOf });
    const [other] = await some(1, { client_id: mergedOf });

    const expected = `Contributor ${kept.id} ${message.replace("%s", `${other.id}`)}`;
    await expectRefused(kept.id, [same.id, other.id], expected);
    expect(await merge(kept, [same])).toHaveProperty("change");
  });

  it.each([
    { kind: "aliases", max: 200, columns: "name) select $1, 'Alias ' || n" },
    { kind: "links", max: 50, columns: "position, url) select $1, n, 'https://example.com/' || n" },
    { kind: "descriptions", max: 40, columns: "language, description) select $1, 'Language ' || n, 'A text'" },
    { kind: "relations", max: 100, columns: "relation_id, relation_type) select $1, $2, 'Type ' || n" },
  ])("more $kind than $max", async ({ kind, max, columns }) => {
    const [kept, one, other] = await some(3);
    const fill = ({ id }: Entry, from: number, to: number) => {
      const values = columns.replace("$1", `${id}`).replace("$2", `${other.id}`);
      const rows = `contributor_${kind} (contributor_id, ${values} from generate_series(${from}, ${to}) as n`;
      return stack.sql.query(`insert into ${rows}`);
    };
    // The name of the merged one is an alias, too.
    const all = kind === "aliases" ? max - 1 : max;
    await fill(kept, 1, all - 1);
    await fill(one, 2, all + 1);

    const message = `Contributor ${kept.id} would have ${max + 1} ${kind}, and can have ${max}`;
    await expectRefused(kept.id, [one.id], message);
    await fill(kept, all, all);
    await stack.sql.query(`delete from contributor_${kind} where contributor_id = ${one.id}`);
    await fill(one, 2, all);
    expect(await merge(kept, [one])).toHaveProperty("change");
  });

  it.each(["a".repeat(200), "😀".repeat(100)])(
    "an alias that is too long in units of UTF-16, as the API counts: one that begins with %s",
    async (first_name) => {
      const [kept] = await some(1);
      const one = await aContributor(stack.sql, { first_name, last_name: "b".repeat(55) });

      const beginning = [...first_name].slice(0, 30).join("");
      await expectRefused(kept.id, [one.id], `The alias "${beginning}…" would have 256 characters, and can have 255`);
    },
  );
});

describe("ops-merge-contributors: former slugs", () => {
  it("find the kept one, and Content-Location is its path", async () => {
    const [kept, one] = await some(2);
    await merge(kept, [one]);

    const [byOwn, byFormer] = [await lookUp(kept.slug), await lookUp(one.slug)];

    expect([byFormer.status, byFormer.body]).toEqual([200, byOwn.body]);
    const current = `/contributor/slug/${kept.slug}`;
    expect(byFormer.headers.get("Content-Location")).toBe(current);
    expect(byOwn.headers.get("Content-Location")).toBeNull();
    expect(byFormer.headers.get("Cache-Tag")).toBe(`contributor-${kept.id}`);
    const unchanged = await lookUp(one.slug, { "If-None-Match": byFormer.headers.get("ETag") ?? "" });
    expect([unchanged.status, unchanged.headers.get("Content-Location")]).toEqual([304, current]);
    const head = await fetch(`${stack.url}/contributor/slug/${one.slug}`, { method: "HEAD" });
    expect([head.status, head.headers.get("Content-Location"), await head.text()]).toEqual([200, current, ""]);
    await stack.sql`update contributors set public = false where id = ${kept.id}`;
    expect((await lookUp(one.slug)).status).toBe(404);
  });

  it("lead on when the kept one is merged itself, end when it is deleted, and come back when that is undone", async () => {
    const [first, second, third] = await some(3);
    await merge(second, [first]);
    await merge(third, [second]);
    const found = async () => {
      const responses = await Promise.all([first, second].map(({ slug }) => lookUp(slug)));
      return responses.map(({ status, body }) => (status === 200 ? body.id : status));
    };
    expect(await found()).toEqual([third.id, third.id]);
    const before = await contents(stack.sql);

    await administrator.call("admin-contributors/delete", { path: { id: third.id } });

    expect(await found()).toEqual([404, 404]);
    await undone(stack, await latestChange(stack.sql));
    expect(await contents(stack.sql)).toEqual(before);
    expect(await found()).toEqual([third.id, third.id]);
  });

  it("are nobody else's: who is added by the former name gets a number", async () => {
    const add = async (first_name: string) => {
      const { headers } = await stack.call("admin-contributors/add", { as: administrator.token, body: { first_name } });
      const id = Number(headers.get("Location")?.split("/").at(-1));
      return (await stack.sql<Entry[]>`select id, slug from contributors where id = ${id}`)[0] as Entry;
    };
    const name = `Former ${randomUUID()}`;
    const [kept, one] = [await aContributor(stack.sql), await add(name)];
    await merge(kept, [one]);

    const again = await add(name);

    expect(again.slug).toBe(`${one.slug}-2`);
    await merge(kept, [again]);
    expect((await add(name)).slug).toBe(`${one.slug}-3`);
    expect((await lookUp(one.slug)).body.id).toBe(kept.id);
  });
});

describe("ops-merge-contributors: the ledger", () => {
  it("has one row with who did it, why, and the result, also when the response to the change is lost", async () => {
    const [kept, one] = await some(2);
    stack.dataApi.intercept(({ attempt, number }) =>
      number === 1 && attempt === 1 ? { kind: "drop-after" } : undefined,
    );

    const options = { reason: "One person", by: "Ada" };
    const result = await merge(kept, [one], options).finally(() => stack.dataApi.intercept(undefined));

    expect(stack.dataApi.calls.length).toBeGreaterThan(1);
    const rows = await stack.sql`
      select endpoint, operator, reason, result from changes where result ->> 'kept' = ${`${kept.id}`}
    `;
    expect(rows).toEqual([{ endpoint: "ops/merge-contributors", operator: "Ada", reason: "One person", result }]);
    expect(await stack.sql`select version from contributors where id = ${kept.id}`).toEqual([{ version: 2 }]);
  });
});

describe("ops-merge-contributors: external ids", () => {
  it("of the merged ones lead imports to the kept one, which has the first that says no slug", async () => {
    const [kept, without] = await some(2);
    const said = await aContributor(stack.sql, { external_id: "slug:said", slug: "said" });
    const [first, second] = [randomUUID(), randomUUID()];
    const [one, other] = [...(await some(1, { external_id: first })), ...(await some(1, { external_id: second }))];

    const { filled } = await merge(kept, [said, one, other, without]);

    expect(filled).toEqual({ external_id: first });
    for (const externalId of ["slug:said", first, second, `slug:${without.slug}`]) {
      const source = JSON.stringify({ kind: "contributor", externalId, gender: externalId });
      expect(await operate(stack, "ops-import", { source })).toMatchObject({ added: 0, changed: 1 });
      expect((await person(kept)).fields).toMatchObject({ gender: externalId });
    }
  });
});

describe("ops-merge-contributors: all or nothing", () => {
  it("when its connection is killed in the middle", async () => {
    const [kept, one, friend] = await some(3);
    const series = await aSeries(stack.sql);
    await addAliases(one, "Alias");
    await relate(stack.sql, friend, one);
    await work(one, series, "art");
    let merging: Promise<unknown> = Promise.resolve();

    // It waits for this row in the middle: aliases and relations are the kept one's by then.
    const difference = await stack.sql.begin(async (tx) => {
      await tx`select from series_contributors where contributor_id = ${one.id} for update`;
      return await differenceBy(stack.sql, async () => {
        merging = merge(kept, [one]);
        for (const _ of Array(2)) await killBlocked(stack.sql, "merge_contributors");
      });
    });

    expect(difference.filter((line) => !line.startsWith("contributors.image"))).toEqual([]);
    expect(await merging).toMatchObject({ kept: kept.id });
    expect(await person(kept)).toMatchObject({ roles: { [series.id]: "art" }, aliases: { length: 2 } });
    expect((await person(friend)).relations).toEqual([[kept.id, "friend"]]);
  });

  it("beside edits of a merged one: each is made before, or finds nobody", async () => {
    const aliases = ["a", "b", "c", "d"];
    const headers = { "Content-Type": "application/merge-patch+json" };
    for (let round = 0; round < 10; round++) {
      const [kept, one] = await some(2);
      const path = { id: one.id };
      const edit = (alias: string) =>
        administrator.call("admin-contributors/edit", { path, headers, body: { added_aliases: [alias] } });

      const [, ...edits] = await Promise.all([merge(kept, [one]), ...aliases.map(edit)]);

      for (const { status } of edits) expect([200, 404]).toContain(status);
      const made = aliases.filter((_, index) => edits[index]?.status === 200);
      expect((await person(kept)).aliases.filter((name) => name.length === 1)).toEqual(made);
    }
  });
});
