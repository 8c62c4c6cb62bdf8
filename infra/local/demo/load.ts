import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client as Connection, escapeIdentifier } from "pg";
import sql from "sql-template-tag";
import { slugOf } from "../../../lib/slug.ts";
import { withConnection } from "../../aws-local/postgres/connection.ts";
import type { Client, Contributor, Description, Publisher, Role, Series, User } from "./types.ts";

type Keys = ReadonlyMap<string, number>;

const tokenDays = 3_650;

export const defaultAspectRatio = 0.7;

/** The key of a volume's cover (`covers.ts`). */
export const coverKey = (series: string, number: number) => `covers/${series}-${number}.svg`;

/** The key of a contributor's avatar (`avatars.ts`). */
export const avatarKey = (contributor: string) => `avatars/${contributor}.svg`;

/** Fills a migrated, empty database with the demo data in one transaction. The tokens of its users are public. */
export async function loadDemo(databaseUrl: string, { users = true } = {}): Promise<void> {
  await withConnection(databaseUrl, async (connection) => {
    await connection.query("begin");
    await insert(connection, "clients", await readDemo<Client>("clients"));
    const contributors = await loadContributors(connection, await readDemo<Contributor>("contributors"));
    const publishers = await loadPublishers(connection, await readDemo<Publisher>("publishers"));
    await loadSeries(connection, await readDemo<Series>("series"), contributors, publishers);
    await loadRoles(connection, await readDemo<Role>("roles"));
    if (users) await loadUsers(connection, await readDemo<User>("users"));
    await connection.query("commit");
  });
}

/** The entries of one of the demo files. */
export const readDemo = async <Entry>(name: string): Promise<Entry[]> =>
  JSON.parse(await readFile(join(import.meta.dirname, `${name}.json`), "utf8"));

/** Returns the ids of the new rows. All rows have the fields of the first. */
async function insert(connection: Connection, table: string, rows: readonly object[]): Promise<number[]> {
  if (rows.length === 0) return [];
  const columns = Object.keys(rows[0] ?? {})
    .map(escapeIdentifier)
    .join();
  const inserted = await connection.query(
    `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1) returning *`,
    [JSON.stringify(rows)],
  );
  return inserted.rows.map(({ id }) => Number(id));
}

type Row = Readonly<Record<string, string | number | boolean | null>>;

interface Keyed {
  readonly key: string;
}

/** Inserts a row for each entry, and gives the ids by the entries' keys. */
async function insertRecords<Entry extends Keyed>(
  connection: Connection,
  table: string,
  entries: readonly Entry[],
  rowOf: (entry: Entry) => Row,
): Promise<Keys> {
  const ids = await insert(connection, table, entries.map(rowOf));
  return new Map(ids.map((id, index) => [entries[index]?.key ?? "", id]));
}

function idOf(keys: Keys, key: string): number {
  const id = keys.get(key);
  if (id === undefined) throw new Error(`The demo data refer to ${key}, which does not exist`);
  return id;
}

/** Inserts rows that belong to the entries into other tables, in which `reference` is the column of an entry's id. */
const childrenOf =
  <Entry extends Keyed>(connection: Connection, entries: readonly Entry[], ids: Keys, reference: string) =>
  (table: string, rowsOf: (entry: Entry) => readonly object[] | undefined) => {
    const rows = entries.map((entry) =>
      (rowsOf(entry) ?? []).map((row) => ({ [reference]: idOf(ids, entry.key), ...row })),
    );
    return insert(connection, table, rows.flat());
  };

const describe = ({ language, description, source = "" }: Description) => ({ language, description, source });

async function loadContributors(connection: Connection, entries: readonly Contributor[]): Promise<Keys> {
  const ids = await insertRecords(connection, "contributors", entries, (entry) => ({
    first_name: entry.first_name,
    last_name: entry.last_name ?? null,
    slug: slugOf(`${entry.first_name} ${entry.last_name ?? ""}`, "contributor"),
    gender: entry.gender ?? null,
    type: entry.type ?? null,
    client_id: entry.client ?? null,
    public: entry.public ?? true,
    image: entry.portrait ? avatarKey(entry.key) : null,
  }));
  const insertChildren = childrenOf(connection, entries, ids, "contributor_id");
  await insertChildren("contributor_links", ({ links }) => links?.map((url, position) => ({ position, url })));
  await insertChildren("contributor_aliases", ({ aliases }) => aliases?.map((name) => ({ name })));
  await insertChildren("contributor_descriptions", ({ descriptions }) => descriptions?.map(describe));
  await insertChildren("contributor_relations", ({ relations }) =>
    relations?.map(({ to, type }) => ({ relation_id: idOf(ids, to), relation_type: type })),
  );
  return ids;
}

async function loadPublishers(connection: Connection, entries: readonly Publisher[]): Promise<Keys> {
  const ids = await insertRecords(connection, "publishers", entries, (entry) => ({
    name: entry.name,
    short_name: entry.short_name ?? null,
    slug: slugOf(entry.name, "publisher"),
    country: entry.country ?? null,
    website: entry.website ?? null,
    headquarter: entry.headquarter ?? null,
    founding_date: entry.founding_date ?? null,
    client_id: entry.client ?? null,
  }));
  const insertChildren = childrenOf(connection, entries, ids, "publisher_id");
  await insertChildren("publisher_aliases", ({ aliases }) => aliases);
  await insertChildren("publisher_descriptions", ({ descriptions }) => descriptions?.map(describe));
  await insertChildren("publisher_relations", ({ relations }) =>
    relations?.map(({ to, type }) => ({ relation_id: idOf(ids, to), type })),
  );
  return ids;
}

async function loadSeries(
  connection: Connection,
  entries: readonly Series[],
  contributorIds: Keys,
  publisherIds: Keys,
): Promise<void> {
  const ids = await insertRecords(connection, "series", entries, ({ name, type, origin, client }) => ({
    name,
    type,
    origin,
    slug: slugOf(name, "series"),
    client_id: client ?? null,
  }));
  const names = [...new Set(entries.flatMap(({ tags }) => tags))].sort().map((key) => ({ key }));
  const tagIds = await insertRecords(connection, "tags", names, ({ key }) => ({ name: key }));
  const insertChildren = childrenOf(connection, entries, ids, "series_id");
  await insertChildren("series_aliases", ({ aliases }) => aliases);
  await insertChildren("series_descriptions", ({ descriptions }) => descriptions);
  await insertChildren("series_tags", ({ tags }) => tags.map((tag) => ({ tag_id: idOf(tagIds, tag) })));
  await insertChildren("volumes", ({ key, volumes }) =>
    volumes.map(({ number, aspect_ratio = defaultAspectRatio, nsfw = 0, nsfw18 = 0, cover = true }) => ({
      number,
      aspect_ratio,
      nsfw,
      nsfw18,
      cover: cover ? coverKey(key, number) : null,
    })),
  );
  await insertChildren("series_contributors", ({ contributors }) =>
    contributors.map(({ key, role = null }) => ({ contributor_id: idOf(contributorIds, key), role })),
  );
  await insertChildren("series_publishers", ({ publishers }) =>
    publishers.map((key) => ({ publisher_id: idOf(publisherIds, key) })),
  );
}

async function loadRoles(connection: Connection, entries: readonly Role[]): Promise<void> {
  for (const { name, description = null, permissions } of entries) {
    await connection.query(sql`
      with added as (insert into roles (name, description) values (${name}, ${description}) returning id)
      insert into role_permissions (role_id, permission_id)
      select added.id, permissions.id from added, permissions where permissions.key = any(${permissions})
    `);
  }
}

async function loadUsers(connection: Connection, entries: readonly User[]): Promise<void> {
  for (const { username, roles, token, age_verified = false, registered = new Date().toISOString() } of entries) {
    const { rows } = await connection.query<{ id: string }>(sql`
      insert into users (username, slug, age_verified, registered)
      values (${username}, ${slugOf(username, "user")}, ${age_verified}, ${registered})
      returning id
    `);
    await connection.query(sql`
      insert into user_roles (user_id, role_id)
      select ${rows[0]?.id}, id
      from roles
      where name = any(${roles.length > 0 ? roles : ["Reader"]})
    `);
    if (token === undefined) continue;
    const digest = createHash("sha256").update(token).digest();
    await connection.query(sql`
      insert into refresh_tokens (digest, user_id, expires_at)
      values (${digest}, ${rows[0]?.id}, now() + make_interval(days => ${tokenDays}))
    `);
  }
}
