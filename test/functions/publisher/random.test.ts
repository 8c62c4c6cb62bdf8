import { describe, expect, it } from "vitest";
import { aPublisher } from "../../support/catalogue.ts";
import { envelope } from "../../support/envelope.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

const draw = (client: number) => stack.call("publisher/random", { query: { client } });

describe("GET /publisher/random", () => {
  it("answers 404 when there are no publishers", async () => {
    const { status, body } = await draw(1);

    expect([status, body]).toEqual([404, envelope(404, "Publisher not found")]);
  });

  it("answers 200 with a string: any shared or own publisher", async () => {
    for (const [slug, client_id] of [
      ["shared", null],
      ["own", 1],
      ["foreign", 2],
    ] as const)
      await aPublisher(stack.sql, { slug, client_id });

    const drawn = new Set<string>();
    for (let time = 0; time < 60; time++) drawn.add((await draw(1)).body);

    expect(drawn).toEqual(new Set(["shared", "own"]));
  });
});
