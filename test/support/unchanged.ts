import { expect } from "vitest";
import { identifier, type Sql } from "./database.ts";
import type { Reply, Stack } from "./stack.ts";

type Answer = Pick<Reply, "status">;

const tables = [
  "awaited_emails",
  "identities",
  "users",
  "user_roles",
  "user_locks",
  "refresh_tokens",
  "roles",
  "role_permissions",
  "permissions",
  "contributors",
  "contributor_links",
  "contributor_aliases",
  "contributor_descriptions",
  "contributor_relations",
  "contributor_locks",
  "former_slugs",
  "former_external_ids",
  "images_to_remove",
  "counters",
  "history",
];

/**
 * Makes a call and checks that it changed none of these tables, and that the ledger has no new row if it answered an
 * error.
 */
export async function unchanged<Given extends Answer>({ sql }: Stack, call: () => Promise<Given>): Promise<Given> {
  const before = await contents(sql);
  const recorded = await sql`select id from changes`;
  const reply = await call();
  expect(await contents(sql)).toEqual(before);
  if (reply.status !== 200) expect(await sql`select id from changes`).toEqual(recorded);
  return reply;
}

async function contents(sql: Sql): Promise<Record<string, unknown>> {
  const entries = tables.map(async (table) => {
    const rows = await sql`select to_jsonb(${identifier(table)})::text as row from ${identifier(table)} order by 1`;
    return [table, rows.map(({ row }) => row)] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

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
