import { beforeEach, describe, expect, it } from "vitest";
import { aContributor } from "../../support/catalogue.ts";
import { envelope } from "../../support/envelope.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

const draw = async (client: number): Promise<string> =>
  (await stack.call("contributor/random", { query: { client } })).body;

beforeEach(() => stack.sql`delete from contributors`);

describe("GET /contributor/random", () => {
  it("answers 200 with a string; each shared or own contributor is equally likely", async () => {
    for (const [slug, client_id] of [
      ["shared", null],
      ["own", 1],
      ["other", 1],
      ["foreign", 2],
    ] as const) {
      await aContributor(stack.sql, { slug, client_id });
    }
    await aContributor(stack.sql, { slug: "unpublished", public: false });

    const counts: Record<string, number> = {};
    for (let time = 0; time < 300; time++) {
      const slug = await draw(1);
      counts[slug] = (counts[slug] ?? 0) + 1;
    }

    expect(Object.keys(counts).sort()).toEqual(["other", "own", "shared"]);
    // 100 each are expected; less than 55 happens once in ten million runs.
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(55);
  });

  it("answers 404 when the client has no published contributors", async () => {
    await aContributor(stack.sql, { client_id: 2 });
    await aContributor(stack.sql, { public: false });

    const { status, body } = await stack.call("contributor/random", { query: { client: 1 } });

    expect([status, body]).toEqual([404, envelope(404, "No contributors found")]);
  });
});
