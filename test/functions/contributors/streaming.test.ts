import { request } from "node:http";
import { gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { useStack } from "../../support/stack.ts";

const contributors = 5_000;
const stack = useStack();

beforeAll(async () => {
  await stack.sql`
    insert into contributors (first_name, last_name, slug, public)
    select 'Ann', lpad(n::text, 5, '0'), 'ann-' || n, true from generate_series(1, ${contributors}::int) as n
  `;
});

describe("GET /contributors without a limit", () => {
  it("gives every contributor once, by a first statement that finds too many and one for each page", async () => {
    stack.dataApi.calls.length = 0;

    const { body } = await stack.call("contributors/list", { query: { client: 1 } });

    expect(body).toMatchObject({ max: contributors, from: 0, to: contributors });
    expect(body.contributors.map(({ last_name }: { last_name: string }) => Number(last_name))).toEqual(
      Array.from({ length: contributors }, (_, n) => n + 1),
    );
    expect(stack.dataApi.calls.length).toBe(4);
  });

  it.each(["name-desc", "added-asc", "added-desc"])("pages by key in the order %s", async (order) => {
    const { body } = await stack.call("contributors/list", { query: { client: 1, order, offset: 10, limit: 4_500 } });

    const numbers = body.contributors.map(({ last_name }: { last_name: string }) => Number(last_name));
    const expected = Array.from({ length: 4_500 }, (_, n) => (order.endsWith("asc") ? n + 11 : contributors - 10 - n));
    expect(numbers).toEqual(expected);
    expect(body).toMatchObject({ max: contributors, from: 10, to: 4_510 });
  });

  it("neither repeats nor drops records while others are added and removed between pages", async () => {
    stack.dataApi.intercept(async ({ number }) => {
      if (number === 3) {
        await stack.sql`insert into contributors (first_name, slug, public) values ('Aaron', 'aaron', true), ('Zed', 'zed', true)`;
        await stack.sql`delete from contributors where last_name = '00001'`;
      }
      return undefined;
    });
    stack.dataApi.calls.length = 0;

    const { body } = await stack.call("contributors/list", { query: { client: 1 } });

    stack.dataApi.intercept(undefined);
    const ids = body.contributors.map(({ id }: { id: number }) => id);
    expect(new Set(ids).size).toBe(contributors + 1);
    expect(body.contributors.at(-1).first_name).toBe("Zed");
    expect(body.to).toBe(ids.length);
  });

  it("breaks the connection when a later page fails", async () => {
    stack.dataApi.calls.length = 0;
    stack.dataApi.intercept(({ number }) =>
      number >= 3
        ? { kind: "error", status: 400, type: "DatabaseErrorException", message: "ERROR: gone; SQLState: 57014" }
        : undefined,
    );

    const response = await fetch(`${stack.url}/contributors?client=1`, { headers: { "Accept-Encoding": "identity" } });

    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
    stack.dataApi.intercept(undefined);
  });

  it("is whole where a chunk ends within a character", async () => {
    await stack.sql`
      insert into contributors (first_name, last_name, slug, public)
      select repeat('😀', 100), n, 'emoji-' || n, true from generate_series(1, 400) as n
    `;

    const { body } = await raw(`${stack.url}/contributors?client=1&search=${encodeURIComponent("😀")}`, "identity");

    const names = JSON.parse(body.toString()).contributors.map(({ first_name }: { first_name: string }) => first_name);
    expect(names).toEqual(Array(400).fill("😀".repeat(100)));
    await stack.sql`delete from contributors where slug like 'emoji-%'`;
  });

  it("is compressed for clients that accept it", async () => {
    const { headers, body } = await raw(`${stack.url}/contributors?client=1`, "gzip, br");

    expect(headers["content-encoding"]).toBe("gzip");
    expect(headers.vary).toContain("Accept-Encoding");
    expect(JSON.parse(gunzipSync(body).toString()).to).toBe(
      JSON.parse(gunzipSync(body).toString()).contributors.length,
    );
    expect((await raw(`${stack.url}/contributors?client=1`, "gzip;q=0")).headers["content-encoding"]).toBeUndefined();
  });
});

function raw(url: string, encoding: string): Promise<{ headers: Record<string, unknown>; body: Buffer }> {
  return new Promise((resolve, reject) => {
    request(url, { headers: { "Accept-Encoding": encoding } }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }));
      response.on("error", reject);
    }).end();
  });
}
