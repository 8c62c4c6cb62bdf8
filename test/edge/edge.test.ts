import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { publicReads } from "../../infra/api/public-reads.ts";
import { type ApiGateway, startApiGateway } from "../../infra/aws-local/api-gateway/server.ts";
import { localDocument } from "../../infra/local/stage/document.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { aContributor } from "../support/catalogue.ts";
import { panelOrigin } from "../support/environment.ts";
import { anAdministrator, type Person } from "../support/people.ts";
import { type Stack, startStack } from "../support/stack.ts";
import { hasSharedCache, type SharedCache, startSharedCache } from "./shared-cache.ts";

const [key, nextKey] = ["the-key-that-the-edge-sends", "the-key-that-it-sends-next"] as const;

let stack: Stack;
let gateway: ApiGateway;
let cache: SharedCache;
let administrator: Person;
/** The requests that reached the origin. */
let forwarded: { readonly url: string; readonly headers: string }[];

beforeAll(async () => {
  if (!hasSharedCache) return;
  stack = await startStack();
  administrator = await anAdministrator(stack.sql);
  gateway = await startApiGateway({
    lambda: stack.lambda,
    document: localDocument({ allowedOrigins: [panelOrigin], edge: true }),
    apiKeys: [key, nextKey],
    pages: [
      ({ url = "", rawHeaders }) => {
        forwarded.push({ url, headers: rawHeaders.join(" ") });
        return false;
      },
    ],
  });
  cache = await startSharedCache(gateway.url, publicReads(endpoints), { key });
});

afterAll(async () => {
  await cache?.close();
  await gateway?.close();
  await stack?.close();
});

beforeEach(() => {
  forwarded = [];
});

const urls = () => forwarded.map(({ url }) => url);
const cookie = () => ({ Cookie: `refreshToken=${administrator.token}` });

describe.skipIf(!hasSharedCache)("The door behind the edge", () => {
  const direct = (path: string, init: RequestInit = {}) => fetch(gateway.url + path, init);
  const paths = ["/publishers?limit=1", "/admin-roles", "/session"];

  it("is open to the edge, whatever key a visitor sends", async () => {
    for (const path of paths)
      expect([path, (await cache.send(path, { headers: { ...cookie(), "x-api-key": "mine" } })).status]).toEqual([
        path,
        200,
      ]);
  });

  it("returns 403 in the envelope without a key, and by a wrong one, which the panel can read", async () => {
    for (const path of paths)
      for (const headers of [{}, { "x-api-key": "mine" }]) {
        const response = await direct(path, { headers: { ...cookie(), ...headers, Origin: panelOrigin } });

        expect([response.status, await response.json()]).toEqual([403, { data: "Forbidden", code: 403 }]);
        expect(response.headers.get("Access-Control-Allow-Origin")).toBe(panelOrigin);
        expect(response.headers.get("Access-Control-Allow-Credentials")).toBe("true");
      }
  });

  it("is open by the current key and by the next one, so that they can be exchanged", async () => {
    for (const each of [key, nextKey])
      expect((await direct("/publishers?limit=1", { headers: { "x-api-key": each } })).status).toBe(200);
  });

  it("needs no key for a preflight, and none to say that there is no such route", async () => {
    const preflight = { Origin: panelOrigin, "Access-Control-Request-Method": "GET" };

    expect((await direct("/admin-roles", { method: "OPTIONS", headers: preflight })).status).toBe(204);
    expect((await direct("/nothing")).status).toBe(404);
  });
});

describe.skipIf(!hasSharedCache)("A shared cache before the public reads", () => {
  it("responds from the cache for ten minutes, then with the stale copy while it asks the origin", async () => {
    const { id, slug } = await aContributor(stack.sql, { first_name: "Before" });
    const read = () => cache.send(`/contributor/slug/${slug}`);
    const named = (first_name: string) => expect.stringContaining(`"first_name":"${first_name}"`);

    expect(await read()).toMatchObject({ cache: "MISS", status: 200, text: named("Before") });
    await stack.sql`update contributors set first_name = 'After' where id = ${id}`;
    await cache.advance(599);
    expect(await read()).toMatchObject({ cache: "HIT", text: named("Before") });
    await cache.advance(2);
    expect(await read()).toMatchObject({ cache: "STALE", text: named("Before") });
    await expect.poll(async () => (await read()).text).toEqual(named("After"));

    expect(forwarded).toHaveLength(2);
  });

  it("sends one request to the origin for fifty at the same time, uncached or just expired", async () => {
    const { slug } = await aContributor(stack.sql);
    const fifty = () => Promise.all(Array.from({ length: 50 }, () => cache.send(`/contributor/slug/${slug}`)));

    const first = await fifty();
    expect(first.map(({ status }) => status)).toEqual(Array(50).fill(200));
    expect(forwarded).toHaveLength(1);

    await cache.advance(601);
    const second = await fifty();
    expect(second.map(({ status }) => status)).toEqual(Array(50).fill(200));
    await expect.poll(async () => (await cache.send(`/contributor/slug/${slug}`)).cache).toBe("HIT");
    expect(forwarded).toHaveLength(2);
  });

  it("has only the declared parameters and gzip in its cache key", async () => {
    const read = (search: string, headers = {}) => cache.send(`/contributors?client=1&limit=5${search}`, { headers });
    await read("");
    forwarded = [];

    for (const search of ["&utm_source=mail", "&LIMIT=7", "&limit_=8", "&callback=x&_=1"])
      expect(await read(search)).toMatchObject({ cache: "HIT" });
    for (const headers of [cookie(), { Origin: "https://a.example.com" }, { "X-Forwarded-For": "192.0.2.7" }])
      expect(await read("", headers)).toMatchObject({ cache: "HIT" });
    expect(forwarded).toEqual([]);

    for (const search of ["&offset=1", "&search=a", "&order=name-desc", "&lang=de"])
      expect(await read(search)).toMatchObject({ cache: "MISS" });
    expect(await read("", { "Accept-Encoding": "br, gzip" })).toMatchObject({ cache: "MISS" });
    expect(await read("", { "Accept-Encoding": "gzip, deflate" })).toMatchObject({ cache: "HIT" });
  });

  it("does not send a visitor's cookies, headers and undeclared parameters to the origin", async () => {
    const { slug } = await aContributor(stack.sql);
    const headers = {
      ...cookie(),
      Origin: "https://secret.example.com",
      Referer: "https://secret.example.com/",
      Authorization: "secret",
      "User-Agent": "secret",
      "X-Forwarded-Host": "secret.example.com",
      "X-Secret": "secret",
      "If-None-Match": '"secret"',
    };
    for (const path of [
      `/contributor/slug/${slug}?secret=1`,
      "/publishers?limit=5&secret=1",
      "/contributor/random?secret=1",
    ])
      await cache.send(path, { headers });

    expect(forwarded).toHaveLength(3);
    expect(JSON.stringify(forwarded)).not.toMatch(/secret|refreshToken/);
    const other = await cache.send(`/contributor/slug/${slug}`);
    expect(other.cache).toBe("HIT");
    expect(JSON.stringify(other)).not.toContain("secret");
  });

  it("responds to HEAD, and by 304 for a matching ETag, from the cached response of a GET", async () => {
    const { slug } = await aContributor(stack.sql);
    const { headers } = await cache.send(`/contributor/slug/${slug}`);

    expect(await cache.send(`/contributor/slug/${slug}`, { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
    const again = { headers: { "If-None-Match": String(headers.etag) } };
    expect(await cache.send(`/contributor/slug/${slug}`, again)).toMatchObject({ status: 304, cache: "HIT" });
    expect(forwarded).toHaveLength(1);
  });

  it("forgets what has an invalidated tag, whole and in any case, and shows no tags", async () => {
    const [one, other] = [await aContributor(stack.sql), await aContributor(stack.sql)];
    const [url, otherUrl] = [`/contributor/slug/${one.slug}`, `/contributor/slug/${other.slug}`];
    const results = [await cache.send(url), await cache.send(otherUrl), await cache.send(url)];
    for (const { headers } of results) expect(headers["cache-tag"]).toBeUndefined();

    await cache.invalidate([`#contributor-${one.id}5`, `#ontributor-${one.id}`, "#contributor", "#contributor-.*"]);
    expect(await cache.send(url)).toMatchObject({ cache: "HIT" });
    await cache.invalidate(["#publisher-1", `#CONTRIBUTOR-${one.id}`]);
    expect(await cache.send(url)).toMatchObject({ cache: "MISS" });
    expect(await cache.send(otherUrl)).toMatchObject({ cache: "HIT" });
    await cache.invalidate(["/*"]);
    expect(await cache.send(otherUrl)).toMatchObject({ cache: "MISS" });
  });

  it("does not cache administrative responses, random slugs and errors", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Administered" });
    const paths = [
      "/admin-contributors?client=1",
      `/admin-contributors/id/${id}`,
      "/admin-users",
      "/contributor/random?client=1",
      "/contributor/slug/nobody",
      "/contributor/slug",
      "/contributors?limit=x",
      "/nowhere",
    ];
    const results = [];
    for (const path of [...paths, ...paths]) results.push(await cache.send(path, { headers: cookie() }));

    expect(results.map(({ status }) => status)).toEqual([
      200, 200, 200, 200, 404, 400, 400, 404, 200, 200, 200, 200, 404, 400, 400, 404,
    ]);
    expect(urls()).toEqual([...paths, ...paths]);
    for (const { headers } of results) expect(headers["x-cache"] ?? "MISS").toBe("MISS");
  });

  it("forwards the panel's requests with cookies and preflights", async () => {
    const preflight = { method: "OPTIONS", headers: { Origin: panelOrigin, "Access-Control-Request-Method": "POST" } };
    expect((await cache.send("/admin-contributors/add", preflight)).headers).toMatchObject({
      "access-control-allow-origin": panelOrigin,
      "access-control-allow-credentials": "true",
    });

    const body = JSON.stringify({ first_name: "Passed" });
    const headers = { ...cookie(), Origin: panelOrigin, "Content-Type": "application/json", "Idempotency-Key": "once" };
    for (const _ of [1, 2])
      expect(await cache.send("/admin-contributors/add?client=1", { method: "POST", headers, body })).toMatchObject({
        status: 200,
      });
    expect(await stack.sql`select client_id from contributors where first_name = 'Passed'`).toEqual([{ client_id: 1 }]);
  });
});
