import { randomUUID } from "node:crypto";
import { identifier, row, type Sql } from "./database.ts";

export interface Entry {
  readonly id: number;
  readonly slug: string;
}

export type Columns = Readonly<Record<string, string | number | boolean | null>>;

/** Adds a row. The slug is that of a record. */
export async function add(sql: Sql, table: string, columns: Columns): Promise<Entry> {
  const [added] = await sql`insert into ${identifier(table)} ${row(columns)} returning *`;
  return { id: added?.id, slug: added?.slug };
}

/** A published contributor, by default in the scope of all clients. */
export const aContributor = (sql: Sql, columns: Columns = {}): Promise<Entry> =>
  add(sql, "contributors", {
    first_name: `Contributor ${randomUUID()}`,
    slug: `contributor-${randomUUID()}`,
    public: true,
    ...columns,
  });

export const aPublisher = (sql: Sql, columns: Columns = {}): Promise<Entry> =>
  add(sql, "publishers", { name: `Publisher ${randomUUID()}`, slug: `publisher-${randomUUID()}`, ...columns });

export interface Relations {
  readonly by?: Entry;
  readonly from?: Entry;
}

/** A series, by a contributor or from a publisher. */
export async function aSeries(sql: Sql, { by, from }: Relations = {}, columns: Columns = {}): Promise<Entry> {
  const series = await add(sql, "series", {
    name: `Series ${randomUUID()}`,
    slug: `series-${randomUUID()}`,
    ...columns,
  });
  if (by) await sql`insert into series_contributors (contributor_id, series_id) values (${by.id}, ${series.id})`;
  if (from) await sql`insert into series_publishers (publisher_id, series_id) values (${from.id}, ${series.id})`;
  return series;
}

/** Adds a relation of one contributor to another one. */
export const relate = (sql: Sql, from: Entry, to: Entry, type = "friend") => sql`
  insert into contributor_relations (contributor_id, relation_id, relation_type) values (${from.id}, ${to.id}, ${type})
`;

/** A contributor with an alias, a description, and a relation to a friend, and their ids. */
export async function aWholeContributor(sql: Sql) {
  const fields = { last_name: "Old", gender: "male", type: "author" };
  const [{ id, slug }, friend] = [await aContributor(sql, fields), await aContributor(sql)];
  const one = async (table: string, columns: Columns): Promise<number> =>
    (await add(sql, `contributor_${table}`, { contributor_id: id, ...columns })).id;
  return {
    id,
    slug,
    friend,
    alias: await one("aliases", { name: "Alias" }),
    description: await one("descriptions", { language: "English", description: "Old text", source: "Wikipedia" }),
    relation: await one("relations", { relation_id: friend.id, relation_type: "friend" }),
  };
}

/** The two clients of every test. */
export const addClients = (sql: Sql) => sql`insert into clients values (1, 'First'), (2, 'Second')`;

/** Adds so many published contributors, whose names neither a row nor gzip makes short. */
export async function addLongContributors(sql: Sql, count: number): Promise<void> {
  await sql`
    insert into contributors (first_name, last_name, slug, public)
    select
      'Ann',
      (select string_agg(md5(n || '-' || part), '') from generate_series(1, 6) as part),
      'ann-' || n,
      true
    from generate_series(1, ${count}::int) as n
  `;
}
