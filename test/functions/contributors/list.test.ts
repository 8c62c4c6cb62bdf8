import { beforeEach, describe, expect, it } from "vitest";
import { aContributor, aSeries, type Entry } from "../../support/catalogue.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

const list = (query: Record<string, string | number> = {}) =>
  stack.call("contributors/list", { query: { client: 1, ...query } });
const aliasesOf = async ({ id }: Entry, ...names: readonly string[]) => {
  for (const name of names)
    await stack.sql`insert into contributor_aliases (contributor_id, name) values (${id}, ${name})`;
};
const namesIn = ({ body }: { body: { contributors: { first_name: string }[] } }) =>
  body.contributors.map(({ first_name }) => first_name);

beforeEach(async () => {
  await stack.sql`delete from contributors`;
  await stack.sql`delete from series`;
});

describe("GET /contributors", () => {
  it("answers 200 with every field of the interface", async () => {
    const contributor = await aContributor(stack.sql, {
      first_name: "Ursula K.",
      last_name: "Le Guin",
      gender: "female",
      image: "avatars/le-guin.webp",
    });
    await aSeries(stack.sql, { by: contributor }, { name: "Earthsea", slug: "earthsea" });

    const { status, body } = await list();

    expect(status).toBe(200);
    expect(body).toEqual({
      contributors: [
        {
          id: contributor.id,
          first_name: "Ursula K.",
          last_name: "Le Guin",
          image: "https://images.example.com/avatars/le-guin.webp",
          gender: "female",
          series_count: 1,
          random_series: { name: "Earthsea", slug: "earthsea" },
        },
      ],
      max: 1,
      from: 0,
      to: 1,
    });
  });

  it("answers 200 without random_series, and with nulls, for missing values", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Hergé" });

    const { body } = await list();

    expect(body.contributors).toEqual([
      { id, first_name: "Hergé", last_name: "", image: null, gender: null, series_count: 0 },
    ]);
  });

  it("answers 200 with the slug of each where it is included, for a link to its page", async () => {
    const { slug } = await aContributor(stack.sql, { first_name: "Hergé" });

    const { body } = await list({ include: "slug" });

    const [contributor] = body.contributors;
    expect(Object.keys(contributor)).toEqual([
      "id",
      "first_name",
      "last_name",
      "slug",
      "image",
      "gender",
      "series_count",
    ]);
    expect(contributor.slug).toBe(slug);
    expect((await stack.call("contributor/slug", { path: { slug } })).body).toMatchObject({ id: contributor.id, slug });
  });

  it("answers 200 with shared and own contributors, never another client's or unpublished ones", async () => {
    await aContributor(stack.sql, { first_name: "Shared" });
    await aContributor(stack.sql, { first_name: "Own", client_id: 1 });
    await aContributor(stack.sql, { first_name: "Foreign", client_id: 2 });
    await aContributor(stack.sql, { first_name: "Unpublished", public: false });

    const reply = await list();

    expect(namesIn(reply)).toEqual(["Own", "Shared"]);
    expect(reply.body.max).toBe(2);
  });

  it("answers 200 counting only series in the client's scope", async () => {
    const contributor = await aContributor(stack.sql);
    const shared = await aSeries(stack.sql, { by: contributor });
    await aSeries(stack.sql, { by: contributor }, { client_id: 2 });

    const { body } = await list();

    expect(body.contributors[0]).toMatchObject({ series_count: 1, random_series: { slug: shared.slug } });
  });

  it("answers 200 with a new random_series each time, from all of them", async () => {
    const contributor = await aContributor(stack.sql);
    for (const name of ["One", "Two", "Three"]) await aSeries(stack.sql, { by: contributor }, { name });

    const drawn = new Set<string>();
    for (let draw = 0; draw < 60; draw++) drawn.add((await list()).body.contributors[0].random_series.name);

    expect(drawn).toEqual(new Set(["One", "Two", "Three"]));
  });

  it("answers 200 ordered by name without regard to case and accents", async () => {
    for (const name of ["zoë", "Émile", "emma", "Øyvind", "adam", "Čapek"])
      await aContributor(stack.sql, { first_name: name });
    const ascending = ["adam", "Čapek", "Émile", "emma", "Øyvind", "zoë"];

    expect(namesIn(await list())).toEqual(ascending);
    expect(namesIn(await list({ order: "name-asc" }))).toEqual(ascending);
    expect(namesIn(await list({ order: "name-desc" }))).toEqual(ascending.toReversed());
  });

  it("answers 200 ordered by when they were added", async () => {
    for (const name of ["C", "A", "B"]) await aContributor(stack.sql, { first_name: name });

    expect(namesIn(await list({ order: "added-asc" }))).toEqual(["C", "A", "B"]);
    expect(namesIn(await list({ order: "added-desc" }))).toEqual(["B", "A", "C"]);
  });

  it("answers 200 with pages that neither overlap nor have gaps when contributors share a name", async () => {
    const ids: number[] = [];
    for (let n = 0; n < 7; n++)
      ids.push(
        (
          await aContributor(stack.sql, {
            first_name: "Ann",
            last_name: `${" ".repeat(n + 1)}x${"\u0301".repeat(n)}`,
            client_id: n % 2 ? 1 : null,
          })
        ).id,
      );

    const seen: number[] = [];
    for (let offset = 0; offset < 7; ) {
      const { body } = await list({ limit: 2, offset });
      expect(body).toMatchObject({ max: 7, from: offset });
      seen.push(...body.contributors.map(({ id }: { id: number }) => id));
      offset = body.to;
    }

    expect(seen.toSorted((a, b) => a - b)).toEqual(ids);
  });

  it("answers 200 with an empty list for limit 0 and for an offset after the end", async () => {
    await aContributor(stack.sql);

    expect((await list({ limit: 0 })).body).toEqual({ contributors: [], max: 1, from: 0, to: 0 });
    expect((await list({ offset: 5 })).body).toEqual({ contributors: [], max: 1, from: 1, to: 1 });
    expect((await list({ limit: Number.MAX_SAFE_INTEGER, offset: Number.MAX_SAFE_INTEGER })).body).toMatchObject({
      from: 1,
      to: 1,
    });
  });

  it("answers 200 with those whose name contains the search, whatever its case and accents", async () => {
    await aContributor(stack.sql, { first_name: "Émile", last_name: "Zola" });
    await aContributor(stack.sql, { first_name: "Stanisław", last_name: "Lem" });
    await aContributor(stack.sql, { first_name: "手塚", last_name: "治虫" });

    expect(namesIn(await list({ search: "emile z" }))).toEqual(["Émile"]);
    expect(namesIn(await list({ search: "ISLAW" }))).toEqual(["Stanisław"]);
    expect(namesIn(await list({ search: "塚 治" }))).toEqual(["手塚"]);
    expect((await list({ search: "lem" })).body).toMatchObject({ max: 1, from: 0, to: 1 });
    for (const nothing of ["", " ", "\u0301".repeat(255)]) expect((await list({ search: nothing })).body.max).toBe(3);
  });

  it("answers 200 with those in whose name or aliases each word of the search occurs, in any order", async () => {
    const tezuka = await aContributor(stack.sql, { first_name: "Osamu", last_name: "Tezuka" });
    const moebius = await aContributor(stack.sql, { first_name: "Jean", last_name: "Giraud" });
    await aliasesOf(tezuka, "手塚 治虫", "God of Manga");
    await aliasesOf(moebius, "Mœbius", "Gir");

    for (const search of ["tezuka osamu", " OSAMU\u3000tezúka ", "mu ka", "manga tezuka", "of god", "治虫 osamu", "治"])
      expect(namesIn(await list({ search })), search).toEqual(["Osamu"]);
    for (const search of ["moebius", "gir giraud jean", "r"]) expect(namesIn(await list({ search }))).toEqual(["Jean"]);
    expect((await list({ search: "j e" })).body).toMatchObject({ max: 1, to: 1 });
    expect((await list({ search: "g", limit: 1, offset: 1 })).body).toMatchObject({ max: 2, from: 1, to: 2 });
    for (const search of ["tezuka giraud", "biusgir", "girosamu", "manga%", "x"])
      expect(namesIn(await list({ search })), search).toEqual([]);
  });

  it("answers 200 finding contributors by the aliases that they have now", async () => {
    const [first, second] = [
      await aContributor(stack.sql, { first_name: "First" }),
      await aContributor(stack.sql, { first_name: "Second" }),
    ];
    const found = async () => namesIn(await list({ search: "pen name" }));

    await stack.sql`
      insert into contributor_aliases (contributor_id, name) values (${first.id}, 'Pen Name'), (${second.id}, 'Other')
    `;
    expect(await found()).toEqual(["First"]);
    await stack.sql`update contributor_aliases set contributor_id = ${second.id} where name = 'Pen Name'`;
    expect(await found()).toEqual(["Second"]);
    await stack.sql`update contributor_aliases set name = 'Name of a pen' where name = 'Other'`;
    await stack.sql`delete from contributor_aliases where name = 'Pen Name'`;
    expect(await found()).toEqual(["Second"]);
    await stack.sql`delete from contributor_aliases`;
    expect(await found()).toEqual([]);
  });

  it("answers 200 finding a contributor by any of many long aliases, which no row of an index has room for", async () => {
    const longest = (first: number) =>
      Array.from({ length: 255 }, (_, n) => String.fromCodePoint(0xac00 + ((first + 7_919 * n) % 11_172))).join("");
    const contributor = await aContributor(stack.sql, { first_name: longest(1), last_name: longest(2) });
    await aliasesOf(contributor, "x".repeat(198), "");
    await aliasesOf(contributor, ...Array.from({ length: 199 }, (_, n) => longest(n)), "q");

    for (const search of ["q", "x", longest(100).slice(9, 19), `q ${longest(7).slice(3, 5)}`])
      expect((await list({ search })).body.max, search).toBe(1);
    expect((await list({ search: "y" })).body.max).toBe(0);
  });

  it.each(["100%", "a_b", "back\\slash", "'; drop table contributors; --"])(
    "answers 200 taking %s as plain text",
    async (name) => {
      await aContributor(stack.sql, { first_name: name });
      await aContributor(stack.sql, { first_name: "100 aXb backXslash" });

      expect(namesIn(await list({ search: name }))).toEqual([name]);
    },
  );

  it("answers 200 with an exact max while rows come, change and go", async () => {
    const [first] = await Promise.all(
      Array.from({ length: 20 }, (_, n) => aContributor(stack.sql, { client_id: n % 2 ? 1 : null })),
    );
    await Promise.all([
      stack.sql`update contributors set public = false where id = ${first?.id ?? 0}`,
      stack.sql`update contributors set client_id = 2 where id in (select id from contributors where client_id = 1 order by id limit 2)`,
    ]);

    const { body } = await list();

    expect(body.max).toBe(body.contributors.length);
    expect(body.max).toBe(17);
  });

  it("answers 200 to any origin", async () => {
    const { headers } = await stack.call("contributors/list", {
      query: { client: 1 },
      headers: { Origin: "https://anyone.example" },
    });

    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(headers.get("access-control-allow-credentials")).toBeNull();
    expect(headers.get("access-control-expose-headers")).toBe(
      "Age, Content-Location, ETag, Location, Retry-After, x-amzn-RequestId",
    );
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });

  it("answers 200 with one statement", async () => {
    stack.dataApi.calls.length = 0;
    await list({ search: "a" });

    expect(stack.dataApi.calls.map(({ operation }) => operation)).toEqual(["ExecuteStatement"]);
  });
});
