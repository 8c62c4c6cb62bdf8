import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { type Colophon, createClient, RequestFailed } from "../../../lib/client/index.js";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor, addLongContributors } from "../../support/catalogue.ts";
import { clientFor, recordingNetwork, refusal } from "../../support/client.ts";
import { useStack } from "../../support/stack.ts";

const contributors = 4_000;
const stack = useStack();
const administrator = useAdministrator(stack);
const query = { client: 1 };
let ids: readonly number[];

beforeAll(async () => {
  await addLongContributors(stack.sql, contributors);
  ids = (await stack.sql`select id from contributors order by name_key, id`).map(({ id }) => id);
});

async function itemsOf<Item>(items: AsyncIterable<Item>, most = Number.POSITIVE_INFINITY, read: Item[] = []) {
  for await (const item of items) if (read.push(item) >= most) break;
  return read;
}

/** A client whose network responds with this text, in pieces of so many bytes. */
function reading(text: string, size: number) {
  let hasEnded = false;
  const bytes = Buffer.from(text);
  async function* pieces() {
    try {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    } finally {
      hasEnded = true;
    }
  }
  const colophon = createClient("", { fetch: async () => new Response(ReadableStream.from(pieces())) });
  return { colophon, hasEnded: () => hasEnded };
}

it("The pages of a list follow each other from the offset on, the last one with the rest, each of a hundred records by default", async () => {
  const [colophon, pageSize] = [clientFor(stack), 1_600];
  const pages = await itemsOf(colophon.pages("/contributors", { query: { ...query, offset: 150 }, pageSize }));
  const [first] = await itemsOf(colophon.pages("/contributors", { query }), 1);
  const none = await itemsOf(colophon.pages("/contributors", { query: { ...query, search: "missing" } }));

  expect(pages.map(({ from, to, max }) => [from, to, max])).toEqual([
    [150, 1_750, contributors],
    [1_750, 3_350, contributors],
    [3_350, contributors, contributors],
  ]);
  expect(pages.flatMap((page) => page.contributors.map(({ id }) => id))).toEqual(ids.slice(150));
  expect(first?.contributors).toHaveLength(100);
  expect(none).toEqual([{ contributors: [], max: 0, from: 0, to: 0 }]);
});

it("All records of a list come once each although others are added between the pages", async () => {
  let added = 0;
  const fetchAndAdd = async (url: string, init: RequestInit) => {
    const response = await fetch(url, init);
    await aContributor(stack.sql, { first_name: `Aaron ${added++}` });
    return response;
  };

  const colophon = clientFor(stack, undefined, { fetch: fetchAndAdd });
  const all = await colophon.all("/contributors", { query, pageSize: 1_500 });

  await stack.sql`delete from contributors where first_name like 'Aaron %'`;
  expect(all.map(({ id }) => id)).toEqual(ids);
});

describe("A stream of a list", () => {
  it("gives every record, or the requested page, in one request, sent again if the service is busy, of lists of every kind", async () => {
    const [one, two] = [recordingNetwork(), recordingNetwork(refusal(503, { "Retry-After": "0" }))];
    const page = { ...query, limit: 3, offset: 5 };

    const all = await itemsOf(clientFor(stack, undefined, { fetch: one.fetch }).stream("/contributors", { query }));
    const few = await itemsOf(
      clientFor(stack, undefined, { fetch: two.fetch }).stream("/contributors", { query: page }),
    );
    const users = await itemsOf(clientFor(stack, administrator).stream("/admin-users"));

    expect([all, few].map((some) => some.map(({ id }) => id))).toEqual([ids, ids.slice(5, 8)]);
    expect([one.sent.length, two.sent.length]).toEqual([1, 2]);
    expect(users.map(({ username }) => username)).toEqual([administrator.username]);
    expect(users).toEqual(await clientFor(stack, administrator).all("/admin-users"));
    expect(await itemsOf(clientFor(stack).stream("/publishers"))).toEqual([]);
  });

  it("gives the records as they are, whatever is in them and wherever the network cuts", async () => {
    const value = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom('"', "\\", '\\"', "}{", "]}", '"max":1'));
    const record = fc.record({
      id: fc.nat(),
      name: value,
      random_series: fc.record({ name: value, tags: fc.array(value) }),
    });

    await fc.assert(
      fc.asyncProperty(fc.array(record), fc.integer({ min: 1, max: 40 }), async (contributors, size) => {
        const text = JSON.stringify({ contributors, max: 999, from: 3, to: 3 + contributors.length });

        const { colophon } = reading(text, size);

        expect(await itemsOf(colophon.stream("/contributors", { query }))).toEqual(contributors);
      }),
      { numRuns: 300 },
    );
  });

  it("throws when the list ends at any byte but its last or lacks records, and returns only whole ones before", async () => {
    const records = [
      { id: 1, name: 'a"}' },
      { id: 2, name: "]}" },
    ];
    const text = JSON.stringify({ contributors: records, max: 2, from: 0, to: 2 });

    const parts = Array.from(text, (_, length) => text.slice(0, length));
    for (const part of [...parts, text.replace('"to":2', '"to":3')]) {
      const read: unknown[] = [];
      const { colophon } = reading(part, 7);

      await expect(itemsOf(colophon.stream("/contributors", { query }), Infinity, read)).rejects.toThrow(
        "has broken off",
      );
      expect(read).toEqual(records.slice(0, read.length));
    }
  });

  it("ends the request when its reader leaves, and when its signal is aborted", async () => {
    const text = JSON.stringify({ contributors: [{ id: 1 }, { id: 2 }], max: 2, from: 0, to: 2 });
    const { colophon, hasEnded } = reading(text, 30);
    const abortion = new AbortController();

    const first = await itemsOf(colophon.stream("/contributors", { query }), 1);
    const stream = clientFor(stack).stream("/contributors", { query, signal: abortion.signal });
    await stream.next();
    abortion.abort(new Error("The page was left"));

    expect([first, hasEnded()]).toEqual([[{ id: 1 }], true]);
    await expect(itemsOf(stream)).rejects.toThrow("The page was left");
  });
});

it("The options of a query are a key, and a function that gives a list or a detail, and ends with its signal", async () => {
  const list = clientFor(stack).queryOptions("/contributors", { query: { ...query, limit: 2 } });
  const path = { id: administrator.id };
  const detail = clientFor(stack, administrator).queryOptions("/admin-users/id/{id}", { path });

  expect(list.queryKey).toEqual(["/contributors", {}, { client: 1, limit: 2 }]);
  expect((await list.queryFn()).contributors.map(({ id }) => id)).toEqual(ids.slice(0, 2));
  await expect(list.queryFn({ signal: AbortSignal.abort(new Error("Left")) })).rejects.toThrow("Left");
  expect(detail.queryKey).toEqual(["/admin-users/id/{id}", path, {}]);
  // As it is edited.
  expect(await detail.queryFn()).toMatchObject({ data: { username: administrator.username }, version: '"1"' });
});

it.each<[string, (colophon: Colophon) => Promise<unknown>]>([
  ["pages", (colophon) => itemsOf(colophon.pages("/admin-users"))],
  ["all", (colophon) => colophon.all("/admin-users")],
  ["stream", (colophon) => itemsOf(colophon.stream("/admin-users"))],
  ["queryOptions", (colophon) => colophon.queryOptions("/admin-users").queryFn()],
])("The error of the service is thrown by %s", async (_, read) => {
  const error = await read(clientFor(stack)).catch((reason) => reason);

  expect(error).toBeInstanceOf(RequestFailed);
  expect(error).toMatchObject({ message: "Unauthorized", error: { code: 401 }, response: { status: 401 } });
});
