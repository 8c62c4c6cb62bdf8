import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, it, vi } from "vitest";
import adminContributorsEvent from "../../events/admin-contributors/list.json" with { type: "json" };
import permissionsEvent from "../../events/admin-permissions/list.json" with { type: "json" };
import rolesEvent from "../../events/admin-roles/list.json" with { type: "json" };
import contributorsEvent from "../../events/contributors/list.json" with { type: "json" };
import { useAdministrator } from "../support/callers.ts";
import { addLongContributors } from "../support/catalogue.ts";
import { aUser } from "../support/people.ts";
import { aRole, give } from "../support/records.ts";
import { useStack } from "../support/stack.ts";

const environments = 2;
const contributors = 14_000;
const roles = 60;
const longest = "漢".repeat(20_000);

const stack = useStack({ limits: { environments } });
const administrator = useAdministrator(stack);
const lines: string[] = [];

beforeAll(async () => {
  await addLongContributors(stack.sql, contributors);
  const all = await Promise.all(Array.from({ length: roles }, () => aRole(stack.sql)));
  await stack.sql`update roles set description = ${longest} where id = any(${all.map(({ id }) => id)})`;
  for (let users = 0; users < 4; users += 1) await give(stack.sql, await aUser(stack.sql), ...all);
  for (const level of ["log", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((line) => void lines.push(String(line)));
  }
});

/** A whole list, of which nothing has been read yet. No buffer of a network lies between. */
async function begin(name: string, event: object, encoding = "identity"): Promise<Readable> {
  const headers = { Cookie: `refreshToken=${administrator.token}`, "Accept-Encoding": encoding };
  const invocation = await stack.lambda.stream(name, { ...event, headers, queryStringParameters: { client: "1" } });
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  return invocation.body;
}

/** Reads at a pace, catching up where the machine has stood still, for so long; then the rest at once. */
async function readAt(bytesPerSecond: number, body: Readable, seconds: number): Promise<string> {
  const start = performance.now();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    const due = bytes / bytesPerSecond;
    if (due < seconds) await sleep(due * 1_000 - (performance.now() - start));
  }
  expect(bytes).toBeGreaterThan(bytesPerSecond * seconds);
  return Buffer.concat(chunks).toString();
}

/** The warnings about broken lists of a function. */
const warnings = (endpoint: string): string[] =>
  lines
    .filter((line) => line.includes('"broken":true'))
    .map((line) => JSON.parse(line))
    .filter((line) => line.endpoint === endpoint)
    .map(({ level, error }) => `${level}: ${error.message}`);

const tooSlow = "warn: The reader took less than 1000000 bytes in 10 seconds";

describe.concurrent("The reader of a list", () => {
  it("is cut off when it takes less than 100 KB in a second, and ten seconds on end, compressed or not", async () => {
    const bodies = await Promise.all(
      ["identity", "gzip"].map((encoding) => begin("contributors-list", contributorsEvent, encoding)),
    );

    await Promise.all(bodies.map((body) => expect(readAt(20_000, body, 60)).rejects.toThrow("The reader took")));

    expect(warnings("contributors-list")).toEqual([tooSlow, tooSlow]);
  });

  it("frees the function when it reads nothing at all", async () => {
    const headers = { Cookie: `refreshToken=${administrator.token}` };
    const sockets = await Promise.all(
      Array.from({ length: environments }, async () => {
        const [response]: IncomingMessage[] = await once(
          request(`${stack.url}/admin-users`, { headers }).end(),
          "response",
        );
        return response;
      }),
    );

    const another = async () => (await fetch(`${stack.url}/admin-users?limit=1`, { headers })).status;
    await expect.poll(another, { timeout: 60_000 }).toBe(200);

    expect(warnings("admin-users-list")).toContain(tooSlow);
    for (const socket of sockets) socket?.destroy();
  });

  it("is not cut off when it takes 200 KB in a second", async () => {
    const text = await readAt(200_000, await begin("admin-contributors-list", adminContributorsEvent), 14);

    expect(JSON.parse(text)).toMatchObject({ max: contributors, to: contributors });
    expect(warnings("admin-contributors-list")).toEqual([]);
  });

  it("is not cut off when the database makes it wait", async () => {
    const body = await begin("admin-roles-list", rolesEvent, "gzip");
    let pages = 0;
    stack.dataApi.intercept(({ sql = "" }) => {
      const isLate = sql.includes("count(*) as permissions") && ++pages <= 3;
      return isLate ? { kind: "delay", ms: 5_000 } : undefined;
    });

    const text = gunzipSync(await buffer(body)).toString();

    expect(pages).toBeGreaterThan(3);
    expect(JSON.parse(text).length).toBeGreaterThan(roles);
    expect(warnings("admin-roles-list")).toEqual([]);
  });

  it("is never cut off when the list fits into the buffers on the way", async () => {
    const body = await begin("admin-permissions-list", permissionsEvent);

    await expect.poll(() => warnings("contributors-list"), { timeout: 60_000 }).toHaveLength(2);

    expect(JSON.parse((await buffer(body)).toString())).toHaveLength(15);
    expect(warnings("admin-permissions-list")).toEqual([]);
  });
});
