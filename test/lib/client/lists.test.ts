import { beforeAll, expect, it } from "vitest";
import { type Colophon, RequestFailed } from "../../../lib/client/index.js";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor, addLongContributors } from "../../support/catalogue.ts";
import { clientFor } from "../../support/client.ts";
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

async function itemsOf<Item>(items: AsyncIterable<Item>, max = Number.POSITIVE_INFINITY, read: Item[] = []) {
  for await (const item of items) if (read.push(item) >= max) break;
  return read;
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

it.each<{ what: string; read: (colophon: Colophon) => Promise<unknown> }>([
  { what: "pages", read: (colophon) => itemsOf(colophon.pages("/admin-users")) },
  { what: "all", read: (colophon) => colophon.all("/admin-users") },
  { what: "queryOptions", read: (colophon) => colophon.queryOptions("/admin-users").queryFn() },
])("The error of the service is thrown by $what", async ({ read }) => {
  const error = await read(clientFor(stack)).catch((reason) => reason);

  expect(error).toBeInstanceOf(RequestFailed);
  expect(error).toMatchObject({ message: "Unauthorized", error: { code: 401 }, response: { status: 401 } });
});
