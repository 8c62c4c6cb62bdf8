import { expect } from "vitest";
import type { UndoAnswer } from "../../lib/operators/undo.ts";
import { identifier, type Sql } from "./database.ts";
import type { Stack } from "./stack.ts";

/** Invokes ops-undo. */
export async function undo({ lambda }: Pick<Stack, "lambda">, payload: object): Promise<UndoAnswer> {
  const invocation = await lambda.invoke("ops-undo", payload);
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  return invocation.result as UndoAnswer;
}

/** Undoes a change without conflicts. Returns the row that did it. */
export async function undone(stack: Pick<Stack, "lambda">, change: number): Promise<number> {
  const answer = await undo(stack, { change });
  expect(answer).toMatchObject({ undone: [{ change, leftOut: [] }], conflicts: [], refused: [], isDone: true });
  return answer.change ?? 0;
}

/** The id of the newest change. */
export const latestChange = async (sql: Sql): Promise<number> =>
  (await sql<{ id: number }[]>`select max(id) as id from changes`)[0]?.id ?? 0;

/** What undoing brings back, by the columns that it does not: versions grow, and what is derived needs no comparison. */
const tables: Readonly<Record<string, readonly string[]>> = {
  contributors: ["version"],
  contributor_aliases: [],
  contributor_descriptions: [],
  contributor_links: [],
  contributor_relations: [],
  former_slugs: [],
  series_contributors: [],
  roles: ["version"],
  permissions: ["version"],
  role_permissions: [],
  user_roles: [],
  users: ["version"],
  tallies: [],
};

/** The rows of all these tables as text, sorted. A tally of nobody is as good as none. */
export async function contents(sql: Sql): Promise<Readonly<Record<string, readonly string[]>>> {
  const entries = Object.entries(tables).map(async ([table, ignored]) => {
    const rows = await sql<{ row: string }[]>`
      select (to_jsonb(${identifier(table)}) - ${ignored}::text[])::text as row
      from ${identifier(table)}
      where coalesce((to_jsonb(${identifier(table)}) ->> 'tally')::bigint, 1) <> 0
      order by 1
    `;
    return [table, rows.map(({ row }) => row)] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** The version of each record. */
export async function versions(sql: Sql): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ record: string; version: number }[]>`
    select 'contributor/' || id as record, version from contributors
    union all
    select 'role/' || id, version from roles
    union all
    select 'permission/' || id, version from permissions
    union all
    select 'user/' || id, version from users
  `;
  return new Map(rows.map(({ record, version }) => [record, version]));
}

/** Lets the minutes pass in which objects of removed images may still be deleted. */
export const settleImages = (sql: Sql) =>
  sql`update images_to_remove set remove_after = remove_after - interval '2 minutes'`;
