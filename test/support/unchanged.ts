import { expect } from "vitest";
import type { Sql } from "./database.ts";
import type { Reply, Stack } from "./stack.ts";

type Response = Pick<Reply, "status">;

const tables = `
  users user_roles user_locks identities awaited_emails refresh_tokens roles role_permissions permissions
  contributors contributor_links contributor_aliases contributor_descriptions contributor_relations contributor_locks
  former_slugs former_external_ids images_to_remove counters history
`
  .trim()
  .split(/\s+/);

/**
 * Makes a call and checks that it changed none of these tables, and that the ledger has no new row if it returned an
 * error.
 */
export async function unchanged<Given extends Response>({ sql }: Stack, call: () => Promise<Given>): Promise<Given> {
  const before = await contents(sql);
  const recorded = await sql`select id from changes`;
  const reply = await call();
  expect(await contents(sql)).toEqual(before);
  if (reply.status !== 200) expect(await sql`select id from changes`).toEqual(recorded);
  return reply;
}

/** Sends a request for each value, and checks that each gets this response, and that none of them changes anything. */
export async function expectEach<Value>(
  stack: Stack,
  values: readonly Value[],
  send: (value: Value) => Promise<Reply>,
  response: object,
): Promise<void> {
  expect(values).not.toEqual([]);
  await unchanged(stack, async () => {
    for (const value of values) expect([value, (await send(value)).body]).toEqual([value, response]);
    return { status: 400 };
  });
}

/** The number of rows of each table, and a digest of them: all rows of the demo data would take longer than the call. */
const contents = (sql: Sql): Promise<object[]> =>
  sql.query(
    tables
      .map((table) => `select '${table}' as table, count(*), sum(hash_record_extended(${table}, 0)) from ${table}`)
      .join(" union all "),
  );

/** A failure that is not transient. */
export const broken = {
  kind: "error",
  status: 400,
  type: "DatabaseErrorException",
  message: "ERROR: could not read block 0; SQLState: XX001",
} as const;

/** Makes a call while every call to the database fails. */
export async function whileDatabaseFails({ dataApi }: Stack, call: () => Promise<Reply>): Promise<Reply> {
  dataApi.intercept(() => broken);
  try {
    return await call();
  } finally {
    dataApi.intercept(undefined);
  }
}
