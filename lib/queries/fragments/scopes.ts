import sql, { empty, type Sql } from "sql-template-tag";
import type { Batch } from "../../data-api/list.ts";
import { letterOf, type Order } from "./lists.ts";

/* Lists of the records in a client's scope: what is `found` has an `id`, a `scope` and a `key`. */

/** A condition for the records of a table in the client's scope, if there is a client; `and` first. */
export const andInScope = (table: Sql, client: number | undefined): Sql =>
  client === undefined ? empty : sql`and ${table}.scope in (0, ${client}::bigint)`;

/** The keys of a letter are neighbours in the index, whose collation is "C". */
export const hasLetter = (letter: string): Sql => sql`
  sort_key >= ${letterOf(letter)} || ' ' and sort_key < ${letterOf(letter)} || '!' and
`;

/** Few are found, all at once; those of other clients are skipped. */
export const foundByIndex = (client: number) => ({
  filter: sql`scope in (0, ${client}::bigint) and`,
  count: sql`select count(*) from found`,
  candidates: ({ isAfter }: Order, { after }: Batch) =>
    sql`(select id, key from found where ${isAfter(after)}) as candidates`,
});

/**
 * As many as a batch may need: an index-only scan reads the shared and the client's own ones in order, and the two are
 * merged; by one select PostgreSQL would read and sort all. It would count in the table, too, which takes longer than in
 * the index.
 */
export const foundInOrder = (client: number) => ({
  filter: empty,
  count: sql`select count(*) from ${inEachScope(empty, client)}`,
  candidates({ by, isAfter }: Order, { after, offset, limit, limitMax }: Batch) {
    const max = offset === 0 ? limitMax : sql`${limit + offset}::bigint`;
    return inEachScope(sql`id, key`, client, sql`and ${isAfter(after)} order by ${by} limit ${max}`);
  },
});

/** What is found of the shared ones, and of the client's own. */
const inEachScope = (fields: Sql, client: number, first = empty): Sql => sql`
  (
    (select ${fields} from found where scope = 0 ${first})
    union all
    (select ${fields} from found where scope = ${client}::bigint ${first})
  ) as scopes
`;
