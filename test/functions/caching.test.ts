import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { aContributor, aPublisher, aSeries, type Entry } from "../support/catalogue.ts";
import { identifier } from "../support/database.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();

async function see(url: string, init: RequestInit = {}, { url: origin } = stack) {
  const response = await fetch(origin + url, init);
  const { byteLength: bytes } = await response.arrayBuffer();
  const { headers, status } = response;
  const [policy, tags] = [headers.get("Cache-Control"), headers.get("Cache-Tag")];
  return { status, policy, tags, bytes, etag: headers.get("ETag") ?? "" };
}

/** GET and HEAD, which say the same of a response. */
const seeBoth = (url: string, init: RequestInit = {}) =>
  Promise.all(["GET", "HEAD"].map((method) => see(url, { method, ...init })));

const cached = expect.stringMatching(/^public, max-age=60, /);
describe.each([
  { url: "/contributors?client=1", tags: "contributors,series" },
  { url: "/publishers?", tags: "publishers,series" },
  { url: "/series?client=1", tags: "series" },
  { url: "/contributor/works/7?client=1", tags: "contributor-7,series" },
  { url: "/publisher/publications/7?client=1", tags: "publisher-7,series" },
])("The list $url", ({ url, tags }) => {
  it("may be cached by the page, with the same tags whatever is requested", async () => {
    const requested = ["order=name-desc", "search=ann,series-1%0d%0aX:1", "tags=a&user_lang=de,x", "offset=5000"];
    for (const search of ["limit=1", "limit=999", "limit=0", ...requested.map((each) => `limit=5&${each}`)])
      for (const each of await seeBoth(`${url}&${search}`))
        expect([search, each]).toMatchObject([search, { status: 200, policy: cached, tags }]);
  });

  it("is never cached whole, nor an error", async () => {
    for (const search of ["", "limit=", "limit=1000", "offset=5000", "search=limit%3D5"])
      for (const each of await seeBoth(`${url}&${search}`))
        expect([search, each]).toMatchObject([search, { status: 200, policy: "no-store", tags: null }]);
    expect(await see(`${url}&limit=x`)).toMatchObject({ status: 400, tags: null });
  });
});

it.each(["contributor/works", "publisher/publications"])(
  "The tags of %s have no id that no record has",
  async (path) => {
    const tagged = `${path.split("/")[0]}-7,series`;
    const page = (id: string) => see(`/${path}/${id}?client=1&limit=5`);
    const ids = ["7", "007", "0", "-7", "9007199254740992", "12345678901234567890"];

    const seen = await Promise.all(ids.map(page));

    expect(seen.map(({ tags }) => tags)).toEqual([tagged, tagged, "series", "series", "series", "series"]);
    for (const id of ["7,contributors", "7%2Cseries", "%0a7", "7%20", "x"])
      expect([id, await page(id)]).toMatchObject([id, { status: 400, tags: null }]);
  },
);

describe("The ETag of a page of a list", () => {
  const pages = ["/publishers?limit=5", "/series?client=1&limit=5", "/publisher/publications/{id}?client=1&limit=999"];
  const known = (etag: string, more = {}) => ({ headers: { "If-None-Match": etag, ...more } });

  beforeEach(async () => {
    for (const table of ["contributors", "publishers", "series"]) await stack.sql`delete from ${identifier(table)}`;
  });

  describe.each(pages)("of %s", (pattern) => {
    let publisher: Entry;
    let page: string;
    const addSeries = async (name: string, length: number) => {
      const { id } = await aSeries(stack.sql, { from: publisher }, { name });
      await stack.sql`
        insert into series_descriptions (series_id, description, language)
        values (${id}, repeat('x', ${length}), 'English')
      `;
      await stack.sql`update publishers set headquarter = repeat('y', ${length / 100})`;
    };

    beforeEach(async () => {
      publisher = await aPublisher(stack.sql);
      page = pattern.replace("{id}", `${publisher.id}`);
    });

    const lengths = [
      { what: "a short page", length: 100 },
      { what: "a page that is compressed", length: 2_000 },
      { what: "a page that is streamed", length: 20_000 },
    ];

    it.each(lengths)("brings 304 to a client that has $what, with and without gzip", async ({ length }) => {
      await addSeries("A", length);
      const now = await see(page);

      for (const more of [{}, { "Accept-Encoding": "identity" }]) {
        expect(await see(page, { headers: more })).toMatchObject({ status: 200, etag: now.etag });
        expect(await see(page, known(`"x", ${now.etag}`, more))).toEqual({ ...now, status: 304, bytes: 0 });
      }
      expect(now).toMatchObject({ status: 200, policy: cached, etag: expect.stringMatching(/^W\/"/) });
    });

    it.each(lengths)("brings 200 to a client that had $what before records changed", async ({ length }) => {
      await addSeries("A", length);
      const before = await see(page);
      await addSeries("B", length);

      const now = await see(page, known(before.etag));

      expect(now.status).toBe(200);
      expect(now.etag).not.toBe(before.etag);
    });
  });

  it("is there where a list could have something random, and has not", async () => {
    await aContributor(stack.sql, { first_name: 'Said "random_series":' });
    const { etag } = await see("/contributors?client=1&limit=5");

    expect((await see("/contributors?client=1&limit=5", known(etag))).status).toBe(304);
  });

  it("is missing where a record is chosen at random", async () => {
    await aSeries(stack.sql, { by: await aContributor(stack.sql) });

    const response = await see("/contributors?client=1&limit=5", known("*"));

    expect(response).toMatchObject({ status: 200, policy: cached, etag: "" });
  });

  it.each([
    { what: "a whole list", path: "/publishers" },
    { what: "a list whose limit is that of a whole one", path: "/publishers?limit=1000" },
    { what: "an error", path: "/publishers?limit=x" },
  ])("is missing of $what", async ({ path }) => {
    expect(await see(path, known("*"))).toMatchObject({ etag: "" });
  });
});

it("A page of long records is cached up to 720 kB", async () => {
  await stack.sql`
    insert into contributors (first_name, last_name, slug, public)
    select repeat('😀', 100), repeat('😀', 90) || n, 'long-' || n, true from generate_series(1, 999) as n
  `;

  const small = await see("/contributors?client=1&limit=700");
  const large = await see("/contributors?client=1&limit=999");

  expect([small.policy, large.policy]).toEqual([cached, "no-store"]);
  expect(small.bytes).toBeLessThan(720_000);
  expect(large.bytes).toBeGreaterThan(720_000);
});

describe.each([
  { kind: "contributor", add: aContributor, columns: ["contributor_id", "relation_type"] },
  { kind: "publisher", add: aPublisher, columns: ["publisher_id", "type"] },
])("The tags of a $kind", ({ kind, add, columns: [from = "", type = ""] }) => {
  const relate = ({ id }: Entry, others: readonly Entry[], as = "sibling") => stack.sql`
    insert into ${identifier(`${kind}_relations`)} (${identifier(from)}, relation_id, ${identifier(type)})
    select ${id}, unnest(${others.map((other) => other.id)}::bigint[]), ${as}
  `;
  const several = (count: number) => Promise.all(Array.from({ length: count }, () => add(stack.sql)));
  const url = ({ slug }: Entry) => `/${kind}/slug/${slug}`;
  const tags = async (entry: Entry) => (await see(url(entry))).tags?.split(",").sort();
  const tagsOf = (...entries: readonly Entry[]) => entries.map(({ id }) => `${kind}-${id}`).sort();

  it("are its own, and those of up to 49 related ones", async () => {
    const [one, ...others] = (await several(50)) as [Entry, ...Entry[]];
    await relate(one, others);
    await relate(one, others.slice(0, 2), "friend");

    expect(await tags(one)).toEqual(tagsOf(one, ...others));
  });

  it("are its own and the list's, where it has 50 related ones", async () => {
    const [one, ...others] = (await several(51)) as [Entry, ...Entry[]];
    await relate(one, others);

    expect(await tags(one)).toEqual([`${kind}-${one.id}`, `${kind}s`]);
  });

  it("are the same where the record is long", async () => {
    const [one, ...others] = (await several(50)) as [Entry, ...Entry[]];
    await relate(one, others);
    await stack.sql`
      insert into ${identifier(`${kind}_descriptions`)} (${identifier(from)}, language, description)
      select ${one.id}, 'English', repeat('long', 5000) from generate_series(1, 4)
    `;

    expect(await tags(one)).toEqual(tagsOf(one, ...others));
  });

  it.runIf(kind === "contributor")("do not name whom the public does not see: the list's stands for them", async () => {
    const [one, hidden] = [await add(stack.sql), await aContributor(stack.sql, { public: false })];
    await relate(one, [hidden]);

    expect(await tags(one)).toEqual([...tagsOf(one), "contributors"]);
    await stack.sql`update contributors set public = true where id = ${hidden.id}`;
    expect(await tags(one)).toEqual(tagsOf(one, hidden));
  });
});

describe("A stage whose edge is told what has changed", () => {
  const edge = useStack({ variables: () => ({ SHARED_CACHE_SECONDS: "3600" }) });
  let paths: readonly [page: string, record: string];

  beforeAll(async () => {
    paths = ["/publishers?limit=1", `/publisher/slug/${(await aPublisher(edge.sql)).slug}`];
  });

  it("lets it keep responses for an hour, for a day while there are errors, and browsers for a minute", async () => {
    // A slow response, as on a machine that stands still, is kept for five seconds.
    const policy = "public, max-age=60, s-maxage=3600, stale-while-revalidate=60, stale-if-error=86400";
    for (const path of paths) await expect.poll(async () => (await see(path, {}, edge)).policy).toBe(policy);
  });

  it("never returns 304 to it, which might lose the tags", async () => {
    for (const path of paths) {
      const { etag, tags } = await see(path, {}, edge);

      expect(etag).toMatch(/^W\//);
      const again = await see(path, { headers: { "If-None-Match": etag } }, edge);
      expect(again).toMatchObject({ status: 200, tags });
    }
  });

  it("lets it keep for seconds what took long, since that may be older than what the edge was told", async () => {
    edge.dataApi.intercept(() => ({ kind: "delay", ms: 600 }));
    const seen = await Promise.all(paths.map((path) => see(path, {}, edge)));

    for (const { policy } of seen) expect(policy).toMatch(/^public, max-age=60, s-maxage=5, /);
  });
});
