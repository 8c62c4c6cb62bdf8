import { beforeAll, describe, expect, it } from "vitest";
import { endpointPath, isPublic, methodsOf } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { useStack } from "../support/stack.ts";

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
