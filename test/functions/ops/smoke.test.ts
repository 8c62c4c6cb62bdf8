import { describe, expect, it } from "vitest";
import { smokeRequests } from "../../../infra/smoke/requests.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ from: "demo" });

const smoke = (payload: object) => stack.lambda.invoke("ops-smoke", payload);

describe("ops-smoke", () => {
  it("sends public requests, and returns the longest duration", async () => {
    const requests = smokeRequests("public");

    expect(await smoke({ requests })).toEqual({
      result: { requests: requests.length, slowestInMilliseconds: expect.any(Number) },
    });
    expect(requests.length).toBeGreaterThanOrEqual(8);
  });

  it("fails when a response is not as declared, and names it", async () => {
    stack.dataApi.intercept(({ sql }) =>
      sql?.includes("publishers") ? { kind: "error", status: 400, type: "BadRequestException" } : undefined,
    );

    const invocation = await smoke({ requests: smokeRequests("public") });

    stack.dataApi.intercept(undefined);
    const { errorMessage = "" } = "error" in invocation ? invocation.error : {};
    expect(errorMessage).toContain("GET /publishers?order=name-asc&limit=20: 500 ");
    expect(errorMessage).not.toContain("GET /contributors");
  });

  it.each([
    ["has", "naoki-urasawa", { result: { requests: 1 } }],
    ["has not", "nobody", { error: { errorMessage: expect.stringMatching(/^GET \/contributor\/slug\/nobody: 404 /) } }],
  ])("asks for the contributor whom the database must have: it %s", async (_, slug, outcome) => {
    const requests = smokeRequests("public", slug).filter(({ endpoint }) => endpoint === "contributor/slug");

    expect(await smoke({ requests })).toMatchObject(outcome);
  });

  it.each([
    [{}, "Invalid payload: requests"],
    [{ requests: [] }, "Invalid payload: requests"],
    [{ requests: [{ endpoint: "publishers/list", target: "//example.com" }] }, "Invalid payload: requests"],
    [{ requests: [{ endpoint: "admin-roles/add", target: "/publishers" }] }, "There is no GET admin-roles/add"],
    [{ requests: [{ endpoint: "nothing/list", target: "/publishers" }] }, "There is no GET nothing/list"],
  ])("fails for the payload %j, which asks for more than what only shows something", async (payload, message) => {
    expect(await smoke(payload)).toMatchObject({ error: { errorMessage: expect.stringContaining(message) } });
  });
});
