import { once } from "node:events";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import sample from "../../events/contributors/list.json" with { type: "json" };
import { addLongContributors } from "../support/catalogue.ts";
import { useStack } from "../support/stack.ts";

const longInMilliseconds = 9_000;

const stack = useStack({ timeouts: { longInMilliseconds } });
let lines: string[];

beforeAll(async () => {
  // More than fits into the buffers on the way, compressed or not.
  await addLongContributors(stack.sql, 6_000);
});

beforeEach(() => {
  lines = [];
  for (const level of ["log", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((line) => void lines.push(String(line)));
  }
  stack.dataApi.calls.length = 0;
  stack.dataApi.intercept(undefined);
});

/** The function has a second to break off before Lambda's time-out; a busy machine may stand still for so long. */
const again = { retry: 2 };

/** The levels of the lines that tell of a broken list. */
const broken = () => lines.filter((each) => each.includes('"broken":true')).map((each) => JSON.parse(each).level);

describe("A list that takes longer than its function may", () => {
  it("is broken off by the function itself while the database makes it wait", again, async () => {
    stack.dataApi.intercept(({ number }) => (number >= 3 ? { kind: "delay", ms: 3_000 } : undefined));

    const response = await fetch(`${stack.url}/contributors?client=1`, { headers: { "Accept-Encoding": "identity" } });
    const body = response.text();

    await expect(body).rejects.toThrow();
    expect(response.status).toBe(200);
    await expect.poll(broken).toEqual(["warn"]);
    // Until the first page was there, and not until the list was over.
    const answered = lines.map((each) => JSON.parse(each)).find(({ streamed }) => streamed);
    expect(answered).toMatchObject({ level: "info", endpoint: "contributors-list", status: 200 });
    expect(answered.durationInMilliseconds).toBeLessThan(4_000);
    expect(lines.join()).not.toContain("Task timed out");
  });

  it.each(["identity", "gzip"])("is broken off while the client does not read, as %s", again, async (encoding) => {
    const event = {
      ...sample,
      headers: { "Accept-Encoding": encoding },
      queryStringParameters: { client: "1" },
    };
    const invocation = await stack.lambda.stream("contributors-list", event);
    if ("error" in invocation) throw new Error(invocation.error.errorMessage);

    await once(invocation.body, "error");

    await expect.poll(broken).toEqual(["warn"]);
    expect(lines.join()).not.toContain("Task timed out");
  });
});
