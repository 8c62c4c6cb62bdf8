import { beforeAll, describe, expect, it } from "vitest";
import { endpointPath, isCacheable, isPublic, methodsOf } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { aContributor, aPublisher, type Entry } from "../support/catalogue.ts";
import { identifier } from "../support/database.ts";
import { type Stack, startStack, useStack } from "../support/stack.ts";

const stack = useStack();

/** Whether caches may keep the answer to a GET, and what HEAD says of it. */
async function areCached(url: string): Promise<boolean[]> {
  const answers = ["GET", "HEAD"].map(async (method) => {
    const response = await fetch(stack.url + url, { method });
    await response.arrayBuffer();
    const policy = response.headers.get("Cache-Control") ?? "";
    expect([response.status, policy]).toEqual([200, expect.stringMatching(/^(no-store|public, max-age=60, .*)$/)]);
    return policy !== "no-store";
  });
  return await Promise.all(answers);
}

const lists = endpoints.filter((each) => isPublic(each) && "list" in each.response);

describe.each(lists.map((each) => [endpointPath(each), each] as const))("The list %s", (_, { path, query = {} }) => {
  const url = `${path.replace(/\{\w+\}/, "1")}?${"client" in query ? "client=1&" : ""}`;

  it("may be cached by the page", async () => {
    for (const search of ["limit=1", "limit=999", "limit=0", "limit=50&offset=5000"])
      expect([search, await areCached(url + search)]).toEqual([search, [true, true]]);
  });

  it("is never cached as a whole", async () => {
    for (const search of ["", "limit=", "limit=1000", "offset=5000", "search=limit%3D5"])
      expect([search, await areCached(url + search)]).toEqual([search, [false, false]]);
  });
});

it("has lists to look at", () => {
  expect(lists.flatMap(methodsOf)).toEqual(Array(4).fill(["GET", "HEAD"]).flat());
});

describe("A page of long records", () => {
  beforeAll(async () => {
    await stack.sql`
      insert into contributors (first_name, last_name, slug, public)
      select repeat('😀', 100), repeat('😀', 90) || n, 'long-' || n, true from generate_series(1, 999) as n
    `;
  });

  const page = async (limit: number) => {
    const response = await fetch(`${stack.url}/contributors?client=1&limit=${limit}`);
    const isCached = response.headers.get("Cache-Control") !== "no-store";
    return { bytes: (await response.arrayBuffer()).byteLength, isCached };
  };

  it("is cached up to 720 kB", async () => {
    const small = await page(700);
    const great = await page(999);

    expect(small).toEqual({ bytes: expect.any(Number), isCached: true });
    expect(small.bytes).toBeLessThan(720_000);
    expect(great).toEqual({ bytes: expect.any(Number), isCached: false });
    expect(great.bytes).toBeGreaterThan(720_000);
  });
});

const tagsOf = (headers: Headers) => headers.get("Cache-Tag");

async function tagsAt(url: string, init: RequestInit = {}) {
  const response = await fetch(stack.url + url, init);
  await response.arrayBuffer();
  return [response.status, tagsOf(response.headers)];
}

describe("The tags of a list", () => {
  it.each([
    ["/contributors?client=1", "contributors,series"],
    ["/publishers?", "publishers,series"],
    ["/contributor/works/7?client=1", "contributor-7,series"],
    ["/publisher/publications/7?client=1", "publisher-7,series"],
  ])("of %s are the same whatever is asked of it", async (url, tags) => {
    for (const asked of [
      "",
      "&offset=3",
      "&order=name-desc",
      "&search=ann,series-1%0d%0aX:1",
      "&tags=a&user_lang=de,x",
    ])
      for (const method of ["GET", "HEAD"])
        expect([asked, ...(await tagsAt(`${url}&limit=5${asked}`, { method }))]).toEqual([asked, 200, tags]);
    expect(await tagsAt(url)).toEqual([200, null]);
    expect(await tagsAt(`${url}&limit=x`)).toEqual([400, null]);
  });

  it.each(["contributor/works", "publisher/publications"])("of %s name no id that nothing can have", async (path) => {
    const named = `${path.split("/")[0]}-7,series`;
    const ids = ["7", "007", "0", "-7", "9007199254740992", "12345678901234567890"];
    const tags = await Promise.all(ids.map((id) => tagsAt(`/${path}/${id}?client=1&limit=5`)));

    expect(tags).toEqual([named, named, "series", "series", "series", "series"].map((each) => [200, each]));
    for (const id of ["7,contributors", "7%2Cseries", "%0a7", "7%20", "x"])
      expect([id, ...(await tagsAt(`/${path}/${id}?client=1&limit=5`))]).toEqual([id, 400, null]);
  });

  it("are declared by every list that caches may keep", () => {
    const declared = endpoints.filter(({ tags }) => tags);

    expect(declared).toEqual(endpoints.filter((each) => isCacheable(each) && "list" in each.response));
  });
});

describe.each([
  { kind: "contributor", add: aContributor, columns: ["contributor_id", "relation_type"] },
  { kind: "publisher", add: aPublisher, columns: ["publisher_id", "type"] },
])("The tags of a $kind", ({ kind, add, columns: [from = "", type = ""] }) => {
  const relate = (id: number, ids: readonly number[], as = "sibling") => stack.sql`
    insert into ${identifier(`${kind}_relations`)} (${identifier(from)}, relation_id, ${identifier(type)})
    select ${id}, unnest(${ids as number[]}::bigint[]), ${as}
  `;
  const several = (count: number) => Promise.all(Array.from({ length: count }, () => add(stack.sql)));
  const read = (slug: string, headers = {}) => stack.call(`${kind}/slug`, { path: { slug }, headers });
  const tags = async (slug: string) =>
    tagsOf((await read(slug)).headers)
      ?.split(",")
      .sort();
  const named = (...entries: readonly { readonly id: number }[]) => entries.map(({ id }) => `${kind}-${id}`).sort();

  it("are its own, and those of the related ones, each once", async () => {
    const [one, two, three, other] = (await several(4)) as [Entry, Entry, Entry, Entry];
    await relate(one.id, [one.id, two.id, three.id]);
    await relate(one.id, [two.id], "friend");
    await relate(other.id, [one.id]);

    expect(await tags(one.slug)).toEqual(named(one, two, three));
    expect(await tags(two.slug)).toEqual(named(two));
  });

  it("come with 304 and with the answer to HEAD", async () => {
    const [one, two] = (await several(2)) as [Entry, Entry];
    await relate(one.id, [two.id]);
    const { headers } = await read(one.slug);
    const known = { "If-None-Match": headers.get("ETag") ?? "" };

    for (const method of ["GET", "HEAD"]) {
      expect(await tagsAt(`/${kind}/slug/${one.slug}`, { method })).toEqual([200, tagsOf(headers)]);
      expect(await tagsAt(`/${kind}/slug/${one.slug}`, { method, headers: known })).toEqual([304, tagsOf(headers)]);
    }
    expect(await tagsAt(`/${kind}/slug/nobody`)).toEqual([404, null]);
  });

  it("are fifty at most: of more, the list's stands for the related ones, also where the record is long", async () => {
    const [one, two, ...others] = (await several(52)) as [Entry, Entry, ...Entry[]];
    await relate(
      one.id,
      others.slice(1).map(({ id }) => id),
    );
    const fifty = named(one, ...others.slice(1));
    await relate(
      two.id,
      others.map(({ id }) => id),
    );

    expect([fifty.length, await tags(one.slug)]).toEqual([50, fifty]);
    expect(await tags(two.slug)).toEqual([`${kind}-${two.id}`, `${kind}s`]);
    await stack.sql`
      insert into ${identifier(`${kind}_descriptions`)} (${identifier(from)}, language, description)
      select ${one.id}, 'English', repeat('long', 5000) from generate_series(1, 4)
    `;
    expect(await tags(one.slug)).toEqual(fifty);
  });
});

describe("The tags of a contributor", () => {
  it("do not name whom the public does not see: the list's stands for them", async () => {
    const [one, hidden] = [await aContributor(stack.sql), await aContributor(stack.sql, { public: false })];
    await stack.sql`
      insert into contributor_relations (contributor_id, relation_id, relation_type)
      values (${one.id}, ${hidden.id}, 'sibling')
    `;
    const read = async () => tagsOf((await stack.call("contributor/slug", { path: { slug: one.slug } })).headers);

    expect(await read()).toBe(`contributor-${one.id},contributors`);
    await stack.sql`update contributors set public = true where id = ${hidden.id}`;
    expect((await read())?.split(",").sort()).toEqual([`contributor-${one.id}`, `contributor-${hidden.id}`].sort());
  });
});

describe("A stage whose edge is told what has changed", () => {
  const paths = async (sql: Stack["sql"]) => ["/publishers?limit=1", `/publisher/slug/${(await aPublisher(sql)).slug}`];
  let edge: Stack;

  beforeAll(async () => {
    edge = await startStack({ variables: () => ({ SHARED_CACHE_SECONDS: "3600" }) });
    return () => edge.close();
  });

  it("lets it keep answers for an hour, and browsers for a minute", async () => {
    for (const path of await paths(edge.sql)) {
      const { headers } = await fetch(edge.url + path);
      expect(headers.get("Cache-Control")).toMatch(/^public, max-age=60, s-maxage=3600, /);
    }
  });

  it("never answers it 304, which might lose the tags", async () => {
    const [, path] = await paths(edge.sql);
    const { headers } = await fetch(edge.url + path);
    const known = { "If-None-Match": headers.get("ETag") ?? "" };
    const response = await fetch(edge.url + path, { headers: known });

    expect(known["If-None-Match"]).toMatch(/^W\//);
    expect([response.status, response.headers.get("Cache-Tag")]).toEqual([200, headers.get("Cache-Tag")]);
  });

  it("lets it keep for seconds what took long, since that may be older than what the edge was told", async () => {
    const all = await paths(edge.sql);
    edge.dataApi.intercept(() => ({ kind: "delay", ms: 600 }));
    const answers = await Promise.all(all.map((path) => fetch(edge.url + path)));
    edge.dataApi.intercept(undefined);

    for (const { headers } of answers)
      expect(headers.get("Cache-Control")).toMatch(/^public, max-age=60, s-maxage=5, /);
  });
});
