import { beforeAll, describe, expect, it } from "vitest";
import { eventOf } from "../../../infra/event.ts";
import { publishEvents } from "../../../infra/operate/events.ts";
import { serveApis } from "../../support/aws-apis.ts";
import { makeEventSchemas } from "../../support/event-schemas.ts";
import { makeLambdaApi } from "../../support/lambda-api.ts";

const lambdaApi = makeLambdaApi();
const eventSchemas = makeEventSchemas();

beforeAll(async () => {
  const { close } = await serveApis(["LAMBDA", "SCHEMAS"], [eventSchemas.answer, lambdaApi.answer]);
  for (const each of ["colophon-dev-session", "colophon-dev-ops-migrate", "colophon-devon-session"])
    lambdaApi.functions.set(each, { versions: [], live: undefined });
  return close;
});

async function publish(options: { stage?: string; isDryRun?: boolean; yes?: boolean } = {}): Promise<string[]> {
  const lines: string[] = [];
  await publishEvents({ stage: "dev", isDryRun: false, yes: false, ...options, print: (line) => lines.push(line) });
  return lines;
}

const id = "lambda-testevent-schemas/_colophon-dev-session-schema";
const contentOf = () => JSON.parse([...(eventSchemas.schemas.get(id)?.values() ?? [])].at(-1) ?? "null");

describe("npm run events -- publish", () => {
  it("makes the samples of a stage's functions shareable test events, once", async () => {
    const dry = await publish({ isDryRun: true });
    expect(dry).toContain("colophon-dev-session: would be published");
    expect(eventSchemas.changes).toEqual([]);

    expect(await publish()).toEqual([
      "colophon-dev-ops-migrate: published",
      "colophon-dev-session: published",
      "2 published, 0 updated, 0 unchanged",
    ]);
    expect(contentOf()).toEqual({
      openapi: "3.0.0",
      info: { version: "1.0.0", title: "Event" },
      paths: {},
      components: {
        schemas: { Event: { type: "object", required: Object.keys(Object(await eventOf("session"))) } },
        examples: { sample: { value: await eventOf("session") } },
      },
    });

    eventSchemas.changes.length = 0;
    expect((await publish()).at(-1)).toBe("0 published, 0 updated, 2 unchanged");
    expect(eventSchemas.changes).toEqual([]);
  });

  it("replaces a sample that is old, keeps what others have shared, and five versions", async () => {
    const content = contentOf();
    content.components.examples = { mine: { value: { by: "ada" } }, sample: { value: {} } };
    eventSchemas.schemas.set(id, new Map([2, 3, 4, 5, 10].map((each) => [each, JSON.stringify(content)])));

    expect(await publish()).toContain("colophon-dev-session: updated");

    expect(contentOf().components.examples).toEqual({
      mine: { value: { by: "ada" } },
      sample: { value: await eventOf("session") },
    });
    expect([...(eventSchemas.schemas.get(id)?.keys() ?? [])]).toEqual([3, 4, 5, 10, 11]);
  });

  it("asks for a protected stage, and says when a stage is not deployed", async () => {
    await expect(publish({ stage: "prod" })).rejects.toThrow("Nothing was published: stage prod is protected");
    await expect(publish({ stage: "prod", yes: true })).rejects.toThrow("There are no functions of stage prod");
    await expect(publish({ stage: "beta" })).rejects.toThrow("There is no stage beta in infra/stages.ts");
  });
});
