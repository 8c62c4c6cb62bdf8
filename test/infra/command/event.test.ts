import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { eventOf } from "../../../infra/command/event.ts";

describe("A payload", () => {
  it("replaces path, query, body and session of the sample event", async () => {
    const given = { path: { id: 7 }, query: { client: 2 }, body: { name: "Guest's" }, as: "local-reader" };

    expect(await eventOf("admin-roles/edit", JSON.stringify(given))).toMatchObject({
      resource: "/admin-roles/edit/{id}",
      pathParameters: { id: "7" },
      queryStringParameters: { client: "2" },
      headers: { "Content-Type": "application/json", Cookie: "refreshToken=local-reader" },
      body: '{"name":"Guest\'s"}',
    });
  });

  it.each([
    { name: "contributors/list", payload: "{", reason: "The payload is not JSON: {" },
    {
      name: "contributors/list",
      payload: '{"client": 1}',
      reason: 'Unrecognized key: "client". That of an endpoint has path, query,',
    },
    {
      name: "contributors/list",
      payload: '{"query": {"client": [1]}}',
      reason: "Invalid payload: query.client: must be text or a number.",
    },
    { name: "ops/tidy", payload: "nowhere.json", reason: "nowhere.json" },
    { name: "ops/tidy", payload: '{"days": 0}', reason: "Invalid payload: days: " },
  ])("of $name is refused: $payload", async ({ name, payload, reason }) => {
    await expect(eventOf(name, payload)).rejects.toThrow(reason);
  });

  it.each(["contributors/list", "ops/tidy"])("of %s that is a file with null is not taken for none", async (name) => {
    const file = join(inject("cache"), "payload.json");
    await writeFile(file, "null\n");

    await expect(eventOf(name, file)).rejects.toThrow("Invalid payload: ");
  });
});
