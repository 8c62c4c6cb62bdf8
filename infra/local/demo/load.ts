import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import postgres, { type TransactionSql } from "postgres";
import { slugOf } from "../../../lib/slug.ts";
import type { Client, Contributor, Publisher, Role, Series, User } from "./types.ts";

type Keys = ReadonlyMap<string, number>;

const tokenDays = 3_650;

/** Fills a migrated, empty database with the demo data, all or nothing; its users have tokens that anybody knows. */
export async function loadDemo(databaseUrl: string, { users = true } = {}): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    await sql.begin(async (step) => {
      await insert(step, "clients", await readDemo<Client>("clients"));
      const contributors = await loadContributors(step, await readDemo<Contributor>("contributors"));
      const publishers = await loadPublishers(step, await readDemo<Publisher>("publishers"));
      await loadSeries(step, await readDemo<Series>("series"), contributors, publishers);
      await loadRoles(step, await readDemo<Role>("roles"));
      if (users) await loadUsers(step, await readDemo<User>("users"));
    });
  } finally {
    await sql.end();
  }
}

/** The entries of one of the demo files. */
export const readDemo = async <Entry>(name: string): Promise<Entry[]> =>
  JSON.parse(await readFile(join(import.meta.dirname, `${name}.json`), "utf8"));

type Rows = readonly Readonly<Record<string, string | number | boolean | null>>[];

/** Inserts rows in their order and gives their ids, where the table makes any. */
async function insert(sql: TransactionSql, table: string, rows: readonly object[]): Promise<void> {
  if (rows.length > 0) await sql`insert into ${sql(table)} ${sql(rows as Rows)}`;
}

/** Inserts records that have a key in the demo files, and gives their ids by key. */
async function insertKeyed(
  sql: TransactionSql,
  table: string,
  rows: readonly object[],
  keys: readonly string[],
): Promise<Keys> {
  const inserted = await sql<{ id: string }[]>`insert into ${sql(table)} ${sql(rows as Rows)} returning id`;
  return new Map(inserted.map(({ id }, index) => [keys[index] ?? "", Number(id)]));
}

function idOf(keys: Keys, key: string): number {
  const id = keys.get(key);
  if (id === undefined) throw new Error(`The demo data name ${key}, which is not there`);
  return id;
}

async function loadContributors(sql: TransactionSql, entries: readonly Contributor[]): Promise<Keys> {
  const rows = entries.map((entry) => ({
    first_name: entry.first_name,
    last_name: entry.last_name ?? null,
    slug: slugOf(`${entry.first_name} ${entry.last_name ?? ""}`, "contributor"),
    gender: entry.gender ?? null,
    type: entry.type ?? null,
    client_id: entry.client ?? null,
    public: entry.public ?? true,
  }));
  const ids = await insertKeyed(
    sql,
    "contributors",
    rows,
    entries.map(({ key }) => key),
  );
  const each = <Row>(rowsOf: (entry: Contributor, contributor_id: number) => readonly Row[]) =>
    entries.flatMap((entry) => rowsOf(entry, idOf(ids, entry.key)));
  await insert(
    sql,
    "contributor_links",
    each(({ links = [] }, contributor_id) => links.map((url, position) => ({ contributor_id, position, url }))),
  );
  await insert(
    sql,
    "contributor_aliases",
    each(({ aliases = [] }, contributor_id) => aliases.map((name) => ({ contributor_id, name }))),
  );
  await insert(
    sql,
    "contributor_descriptions",
    each(({ descriptions = [] }, contributor_id) =>
      descriptions.map(({ language, description, source = "" }) => ({ contributor_id, language, description, source })),
    ),
  );
  await insert(
    sql,
    "contributor_relations",
    each(({ relations = [] }, contributor_id) =>
      relations.map(({ to, type }) => ({ contributor_id, relation_id: idOf(ids, to), relation_type: type })),
    ),
  );
  return ids;
}

async function loadPublishers(sql: TransactionSql, entries: readonly Publisher[]): Promise<Keys> {
  const rows = entries.map((entry) => ({
    name: entry.name,
    short_name: entry.short_name ?? null,
    slug: slugOf(entry.name, "publisher"),
    country: entry.country ?? null,
    website: entry.website ?? null,
    headquarter: entry.headquarter ?? null,
    founding_date: entry.founding_date ?? null,
    client_id: entry.client ?? null,
  }));
  const ids = await insertKeyed(
    sql,
    "publishers",
    rows,
    entries.map(({ key }) => key),
  );
  const each = <Row>(rowsOf: (entry: Publisher, publisher_id: number) => readonly Row[]) =>
    entries.flatMap((entry) => rowsOf(entry, idOf(ids, entry.key)));
  await insert(
    sql,
    "publisher_aliases",
    each(({ aliases = [] }, publisher_id) => aliases.map((alias) => ({ publisher_id, ...alias }))),
  );
  await insert(
    sql,
    "publisher_descriptions",
    each(({ descriptions = [] }, publisher_id) =>
      descriptions.map(({ language, description, source = "" }) => ({ publisher_id, language, description, source })),
    ),
  );
  await insert(
    sql,
    "publisher_relations",
    each(({ relations = [] }, publisher_id) =>
      relations.map(({ to, type }) => ({ publisher_id, relation_id: idOf(ids, to), type })),
    ),
  );
  return ids;
}

async function loadSeries(
  sql: TransactionSql,
  entries: readonly Series[],
  contributors: Keys,
  publishers: Keys,
): Promise<void> {
  const rows = entries.map(({ name, type, origin, client }) => ({
    name,
    type,
    origin,
    slug: slugOf(name, "series"),
    client_id: client ?? null,
  }));
  const ids = await insertKeyed(
    sql,
    "series",
    rows,
    entries.map(({ key }) => key),
  );
  const names = [...new Set(entries.flatMap(({ tags }) => tags))].sort();
  const tags = await insertKeyed(
    sql,
    "tags",
    names.map((name) => ({ name })),
    names,
  );
  const each = <Row>(rowsOf: (entry: Series, series_id: number) => readonly Row[]) =>
    entries.flatMap((entry) => rowsOf(entry, idOf(ids, entry.key)));
  await insert(
    sql,
    "series_aliases",
    each(({ aliases = [] }, series_id) => aliases.map((alias) => ({ series_id, ...alias }))),
  );
  await insert(
    sql,
    "series_descriptions",
    each(({ descriptions = [] }, series_id) =>
      descriptions.map(({ language, description }) => ({ series_id, language, description })),
    ),
  );
  await insert(
    sql,
    "series_tags",
    each((entry, series_id) => entry.tags.map((tag) => ({ series_id, tag_id: idOf(tags, tag) }))),
  );
  await insert(
    sql,
    "volumes",
    each((entry, series_id) =>
      entry.volumes.map(({ number, aspect_ratio = 0.7, nsfw = 0, nsfw18 = 0, cover = true }) => ({
        series_id,
        number,
        aspect_ratio,
        nsfw,
        nsfw18,
        cover: cover ? `covers/${entry.key}-${number}.webp` : null,
      })),
    ),
  );
  await insert(
    sql,
    "series_contributors",
    each((entry, series_id) =>
      entry.contributors.map(({ key, role = null }) => ({ series_id, contributor_id: idOf(contributors, key), role })),
    ),
  );
  await insert(
    sql,
    "series_publishers",
    each((entry, series_id) => entry.publishers.map((key) => ({ series_id, publisher_id: idOf(publishers, key) }))),
  );
}

async function loadRoles(sql: TransactionSql, entries: readonly Role[]): Promise<void> {
  for (const { name, description = null, permissions } of entries) {
    await sql`
      with added as (insert into roles (name, description) values (${name}, ${description}) returning id)
      insert into role_permissions (role_id, permission_id)
      select added.id, permissions.id from added, permissions where permissions.key in ${sql(permissions)}
    `;
  }
}

async function loadUsers(sql: TransactionSql, entries: readonly User[]): Promise<void> {
  for (const { username, roles, token, age_verified = false, registered = new Date().toISOString() } of entries) {
    const [user] = await sql<{ id: string }[]>`
      insert into users (username, slug, age_verified, registered)
      values (${username}, ${slugOf(username, "user")}, ${age_verified}, ${registered})
      returning id
    `;
    if (!user) throw new Error(`The user ${username} was not added`);
    await sql`
      insert into user_roles (user_id, role_id)
      select ${user.id}, id
      from roles
      where name in ${sql(roles.length > 0 ? roles : ["Reader"])}
    `;
    if (token === undefined) continue;
    const digest = createHash("sha256").update(token).digest();
    await sql`
      insert into refresh_tokens (digest, user_id, expires_at)
      values (${digest}, ${user.id}, now() + make_interval(days => ${tokenDays}))
    `;
  }
}
