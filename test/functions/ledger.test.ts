import { createHash, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type Declaration, endpointPath, functionName, isNavigation } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { payloads } from "../../lib/operators/payloads.ts";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { newestChange, replayed } from "../support/changes.ts";
import { expectDeclared } from "../support/contract.ts";
import { identifier } from "../support/database.ts";
import { invoke } from "../support/invoke.ts";
import { operate } from "../support/operate.ts";
import { aSession, aUser } from "../support/people.ts";
import { tinyImage as image } from "../support/pictures.ts";
import { aPermission, aRole, give, permissionId } from "../support/records.ts";
import type { Request } from "../support/stack.ts";
import { latestChange, type Rows, rowsOf, withoutVersions } from "../support/undo.ts";
import { useUploads } from "../support/uploads.ts";

const stack = useUploads({ from: "demo" });
const administrator = useAdministrator(stack);

const call = (name: string, request: Omit<Request, "as">) => stack.call(name, { as: administrator.token, ...request });

const changesSince = async (id: number) =>
  await stack.sql<{ id: number; endpoint: string; record: string | null }[]>`
    select id, endpoint, record, operator, reason from changes where id > ${id} order by id
  `;

/** Each table with a digest of its rows. */
async function digests(): Promise<{ name: string; digest: string }[]> {
  const tables = await stack.sql`select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`;
  const text = "md5(string_agg(row::text, '' order by row::text)) as digest";
  const selects = tables.map(({ name }) => `select '${name}' as name, ${text} from ${name} as row`);
  return await stack.sql.query(`${selects.join(" union all ")} order by name`);
}

/** The bytes that a change added, less what it replaced or deleted and what it may add: 4 KB and three times the body. */
async function excess(change: number | undefined, body: string): Promise<number> {
  const [{ bytes } = { bytes: 0 }] = await stack.sql<{ bytes: number }[]>`
    select
      octet_length(to_json(changes)::text) + coalesce((
        select sum(octet_length(to_json(history)::text) - coalesce(octet_length(before::text), 0))
        from history
        where change_id = changes.id and after is not null
      ), 0)::int as bytes
    from changes
    where id = ${change ?? 0}
  `;
  expect(bytes).toBeGreaterThan(0);
  return bytes - 4_096 - 3 * Buffer.byteLength(body);
}

describe("The sample of each function that changes something is one change, which says all that it did, and who", () => {
  /** Who edits a record, what the edge still has, how far a file is, and which releases there are, is in no ledger. */
  const unrecorded = ["contributor_locks", "user_locks", "stale_tags", "invalidations", "imports", "releases"];
  /** What is deleted comes last, so that others find it: images that were set, then records. */
  const last = ({ method, needsFileService }: Declaration) => (method === "DELETE" ? (needsFileService ? 1 : 2) : 0);
  const functions = [
    ...endpoints
      .filter((each) => !isNavigation(each))
      .toSorted((one, other) => last(one) - last(other))
      .map((each) => ({ name: endpointPath(each), lambda: functionName(each), isRepair: false, endpoint: each })),
    ...Object.entries(payloads).map(([name, { shape }]) => ({
      name,
      lambda: name.replace("/", "-"),
      isRepair: "dryRun" in shape,
      endpoint: undefined,
    })),
  ];

  /** As the last change has left them: to read all takes longer than most functions. */
  let known: Rows;

  beforeAll(async () => {
    for (const { id } of await stack.sql<{ id: number }[]>`select id from users`) await aSession(stack.sql, id);
    known = await rowsOf(stack.sql);
  });

  it.each(functions)("$name", async ({ name, lambda, isRepair, endpoint }) => {
    const text = await readFile(join(import.meta.dirname, `../../events/${name}.json`), "utf8");
    const { dryRun: _, ...event } = JSON.parse(text);
    const latest = await latestChange(stack.sql);
    const before = { rows: known, tables: await digests() };
    if (isRepair) {
      expect(await stack.lambda.invoke(lambda, { ...event, dryRun: true })).toHaveProperty("result");
      expect(await digests()).toEqual(before.tables);
    }

    const by = isRepair ? { by: "Grace", reason: "A mistake" } : {};
    const result = await invoke<{ statusCode: number; body: string }>(stack, lambda, { ...event, ...by });

    if (endpoint) {
      expect(event).toMatchObject({ resource: endpoint.path, httpMethod: endpoint.method });
      expect(result.statusCode).toBe(200);
      expectDeclared(endpoint, 200, JSON.parse(result.body));
    }

    const changes = await changesSince(latest);
    if (isRepair) expect(changes).toMatchObject(changes.map(() => ({ operator: "Grace", reason: "A mistake" })));
    const changed = (await digests()).filter(({ digest }, at) => digest !== before.tables[at]?.digest);
    const isChange = changed.some((table) => !unrecorded.includes(table.name));
    expect(changes.map(({ endpoint }) => endpoint)).toEqual(isChange ? [name] : []);
    // The tables whose rows the ledger has are the same, too.
    if (!isChange) return;
    const { id = 0, record = null } = changes[0] ?? {};
    // Of a deleted user, whom the change names, the history has nothing.
    const user = record?.replace("user/", "");
    const others = (rows: Rows) =>
      Object.entries(withoutVersions(rows)).filter(
        ([name, row]) => name !== `users [${user}]` && `${row.user_id}` !== user,
      );
    const rows = await rowsOf(stack.sql);
    known = rows;
    expect(others(await replayed(stack.sql, before.rows, id, "forth")).sort()).toEqual(others(rows).sort());
    expect(others(await replayed(stack.sql, rows, id, "back")).sort()).toEqual(others(before.rows).sort());

    expect(await excess(id, event.body ?? text)).toBeLessThanOrEqual(0);
    const change = await newestChange(stack, { id, raw: true });
    const lines = change.rows?.flatMap((row) =>
      row.before && row.after
        ? Object.keys(row.after).map((column) => expect.stringContaining(`${column} `))
        : [expect.any(String)],
    );
    expect(change.what).toEqual(lines);
    for (const each of new Set(change.rows?.map((row) => row.record) ?? [record]))
      expect((await newestChange(stack, { record: each })).id).toBe(id);
  });
});

it("Neither tokens nor images nor awaited e-mail addresses are in the ledger", async () => {
  const address = `${randomUUID()}@example.com`;
  const link = { issuer: "https://accounts.example.com", email: address };
  await stack.lambda.invoke("ops-create-user", { username: "Grace", email: { issuer: link.issuer, address } });
  await stack.lambda.invoke("ops-link-identity", { username: "Grace", ...link, remove: true });
  const { refreshToken } = await operate(stack, "ops-issue-refresh-token", { username: "Grace", days: 1 });
  const path = { id: (await aContributor(stack.sql)).id };
  expect((await call("admin-contributors/update-avatar", { path, body: { image } })).status).toBe(200);

  const [{ text } = { text: "" }] = await stack.sql<{ text: string }[]>`
    select concat(
      (select json_agg(to_jsonb(changes) - 'fingerprint') from changes), (select json_agg(history) from history)
    ) as text
  `;

  expect(text).toContain("Grace");
  for (const token of [refreshToken, administrator.token]) {
    expect(text).not.toContain(token);
    expect(text).not.toContain(createHash("sha256").update(token).digest("hex"));
  }
  expect(text).not.toContain(address);
  expect(text).not.toContain(image.slice(30, 60));
});

describe("A request adds to the ledger at most 4 KB and three times its body, beyond what it replaces and deletes", () => {
  const longest = "漢".repeat(255);

  async function expectBound(name: string, request: Omit<Request, "as">): Promise<void> {
    const latest = await latestChange(stack.sql);
    expect((await call(name, request)).status).toBe(200);
    const [change] = await changesSince(latest);
    expect(await excess(change?.id, JSON.stringify(request.body ?? ""))).toBeLessThanOrEqual(0);
  }

  it("whatever is edited of a contributor with as much as possible, and when that is deleted", async () => {
    const { sql } = stack;
    const first_name = randomUUID();
    const { id } = await aContributor(sql, { first_name, last_name: longest });
    const other = await aContributor(sql);
    const [alias] = await sql`
      insert into contributor_aliases (contributor_id, name) select ${id}, ${longest} from generate_series(1, 200)
      returning id
    `;
    const [description] = await sql`
      insert into contributor_descriptions (contributor_id, language, description, source)
      select ${id}, 'English', repeat('漢', 20000), ${longest} from generate_series(1, 40)
      returning id
    `;
    const relations = await sql<{ id: number }[]>`
      insert into contributor_relations (contributor_id, relation_id, relation_type)
      select ${id}, ${other.id}, ${longest} from generate_series(1, 100)
      returning id
    `;
    const links = Array.from({ length: 50 }, (_, number) => `https://example.org/${number}/`.padEnd(2_000, "x"));
    const names = { first_name, last_name: longest };
    const path = { id };
    const edits = [
      { links },
      { links, public: true },
      { links: links.toReversed(), removed_aliases: [alias?.id], added_aliases: ["a"] },
      { links: links.toReversed(), modified_descriptions: [{ id: description?.id, language: "de" }] },
      {
        links: [...links.slice(1), "https://example.org/"],
        modified_relations: relations.slice(0, 3).map((relation) => ({ id: relation.id, relation_type: "a" })),
      },
      {},
    ];

    for (const edit of edits) await expectBound("admin-contributors/edit", { path, body: { ...names, ...edit } });
    await expectBound("admin-contributors/delete", { path });
  });

  it("by links that become three times as long, long names, and the largest numbers", async () => {
    const links = Array.from({ length: 50 }, (_, number) => `https://example.org/${number}/${"é".repeat(300)}`);
    const removed = Array.from({ length: 200 }, (_, number) => Number.MAX_SAFE_INTEGER - number);
    const [{ id }, role] = [await aContributor(stack.sql), await aRole(stack.sql)];

    await expectBound("admin-contributors/edit", { path: { id }, body: { first_name: randomUUID(), links } });
    await expectBound("admin-roles/edit", { path: { id: role.id }, body: { name: "N", removed_permissions: removed } });
  });
});

describe("An edit that changes nothing", () => {
  const kinds: Readonly<Record<string, () => Promise<{ id: number; body: object; other: object }>>> = {
    async contributors() {
      const [first_name, links] = [randomUUID(), ["https://a.example", "https://b.example"]];
      const { id } = await aContributor(stack.sql, { first_name, public: false });
      await call("admin-contributors/edit", { path: { id }, body: { first_name, links, added_descriptions } });
      const [description] = await stack.sql`select id from contributor_descriptions where contributor_id = ${id}`;
      const modified_descriptions = [{ id: description?.id, language: "English" }];
      return { id, body: { first_name, links, modified_descriptions }, other: { first_name: randomUUID() } };
    },
    async users() {
      const [{ id, username }, role] = [await aUser(stack.sql), await aRole(stack.sql)];
      await give(stack.sql, { id }, role);
      return { id, body: { username, added_roles: [role.id] }, other: { username: randomUUID() } };
    },
    async roles() {
      const { id, name } = await aRole(stack.sql, "view-users");
      const added_permissions = [await permissionId(stack.sql, "view-users")];
      return { id, body: { name, added_permissions, removed_permissions: [1e15] }, other: { name: randomUUID() } };
    },
    async permissions() {
      const { id, name } = await aPermission(stack.sql);
      await stack.sql`update permissions set description = 'd' where id = ${id}`;
      return { id, body: { name, description: "d" }, other: { name: randomUUID(), description: "d" } };
    },
  };
  const added_descriptions = [{ description: "d", language: "English" }];

  const rowOf = (table: string, id: number) => stack.sql`select * from ${identifier(table)} where id = ${id}`;
  const statusOf = async (table: string, id: number, body: object, headers = {}) =>
    (await call(`admin-${table}/edit`, { path: { id }, body, headers })).status;

  it.each(Object.entries(kinds))("of %s returns 200 and has no history", async (table, make) => {
    const { id, body } = await make();
    const [latest, before] = [await latestChange(stack.sql), await rowOf(table, id)];

    expect(await statusOf(table, id, body)).toBe(200);

    expect(await rowOf(table, id)).toEqual(before);
    const [change] = await changesSince(latest);
    expect(await newestChange(stack, { id: change?.id })).toMatchObject({
      what: [],
      // Only this says about whom it was, so that the deletion of the user forgets its digest.
      record: table === "users" ? `user ${id}` : null,
    });
  });

  it.each(Object.entries(kinds))("of %s is not done later under its key", async (table, make) => {
    const { id, body, other } = await make();
    const headers = { "Idempotency-Key": randomUUID() };
    await statusOf(table, id, body, headers);
    const before = await rowOf(table, id);
    expect(await statusOf(table, id, other)).toBe(200);
    const changed = await rowOf(table, id);
    expect(changed).not.toEqual(before);

    expect(await statusOf(table, id, body, headers)).toBe(200);

    expect(await rowOf(table, id)).toEqual(changed);
  });
});
