import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor, addLongContributors, aPublisher } from "../support/catalogue.ts";
import { envelope } from "../support/envelope.ts";
import { type Request, useStack } from "../support/stack.ts";

/** On a machine that stands still, Lambda must not end a function before it gives up. */
const stack = useStack({ timeouts: { publicRecordInMilliseconds: 14_000 } });
const administrator = useAdministrator(stack);
let requests: readonly (readonly [string, Request])[];
let lines: string[];

beforeAll(async () => {
  const contributor = await aContributor(stack.sql);
  const publisher = await aPublisher(stack.sql);
  requests = [
    ["contributor/slug", { path: { slug: contributor.slug } }],
    ["contributor/random", { query: { client: 1 } }],
    ["publisher/slug", { path: { slug: publisher.slug } }],
    ["publisher/random", { query: { client: 1 } }],
    ["contributors/list", { query: { client: 1 } }],
    ["publishers/list", {}],
    ["contributor/works", { path: { id: contributor.id }, query: { client: 1 } }],
    ["publisher/publications", { path: { id: publisher.id }, query: { client: 1 } }],
  ];
});

beforeEach(() => {
  lines = [];
  for (const level of ["log", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((line) => void lines.push(String(line)));
  }
});

afterEach(() => stack.dataApi.intercept(undefined));

describe("While the database does not answer", () => {
  it("public reads give up by themselves, with Retry-After, and administrative ones go on waiting", async () => {
    const { promise: answering, resolve: answer } = Promise.withResolvers<undefined>();
    stack.dataApi.intercept(() => answering);
    let isShown = false;
    const shown = stack.call("admin-roles/list", { as: administrator.token }).finally(() => {
      isShown = true;
    });

    const replies = await Promise.all(requests.map(([name, request]) => stack.call(name, request)));

    expect(isShown).toBe(false);
    for (const { body, headers } of replies) {
      expect(body).toEqual(envelope(503, "Service unavailable, try again in a few seconds"));
      expect(headers.get("Retry-After")).toBe("5");
    }
    // Lambda's own time-out would get the same answer from the gateway.
    expect(lines.join()).not.toContain("Task timed out");
    answer(undefined);
    expect((await shown).status).toBe(200);
  });

  it("public reads succeed by a second attempt when the first one gets no answer", async () => {
    stack.dataApi.calls.length = 0;
    stack.dataApi.intercept(({ number }) => (number <= requests.length ? new Promise(() => {}) : undefined));

    const replies = await Promise.all(requests.map(([name, request]) => stack.call(name, request)));

    expect(replies.map(({ status }) => status)).toEqual(requests.map(() => 200));
  });

  it("a public list breaks when its next page does not come, and an administrative one goes on waiting", async () => {
    await addLongContributors(stack.sql, 6_000);
    const { promise: answering, resolve: answer } = Promise.withResolvers<undefined>();
    const calls = { guarded: 0, open: 0 };
    // The first page of such a list takes two calls.
    stack.dataApi.intercept(({ sql }) =>
      ++calls[sql?.includes("caller") ? "guarded" : "open"] > 2 ? answering : undefined,
    );
    const headers = { "Accept-Encoding": "identity", Cookie: `refreshToken=${administrator.token}` };
    const open = (path: string) => fetch(`${stack.url}${path}?client=1`, { headers });
    const [forVisitors, forPanel] = await Promise.all([open("/contributors"), open("/admin-contributors")]);
    let isRead = false;
    const read = forPanel.text().finally(() => {
      isRead = true;
    });

    await expect(forVisitors.arrayBuffer()).rejects.toThrow();

    expect(isRead).toBe(false);
    answer(undefined);
    expect(JSON.parse(await read)).toMatchObject({ max: 6_001 });
  });
});
