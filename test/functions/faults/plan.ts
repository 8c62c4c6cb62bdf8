import { identifier, type Sql } from "../../support/database.ts";

/** The records and the image that requests refer to. */
export interface Scene {
  /** Requests move users from one of these roles to the other. */
  readonly roles: readonly [number, number];
  /** A permission that this service does not check. */
  readonly permission: number;
  /** A data URL. */
  readonly image: string;
}

export interface Kind {
  readonly endpointPath: string;
  /** The number among a thousand requests. */
  readonly share: number;
  /** Makes one record for each request, and returns their ids. */
  readonly prepare?: (sql: Sql, count: number) => Promise<readonly { readonly id: number }[]>;
  readonly request: (target: number, mark: string, scene: Scene) => Request;
  /**
   * SQL expressions over the columns `target` and `mark`. Each counts how often one part of the write was done. All 0:
   * not done; all 1: done once; one above 1: done more than once; otherwise done partly.
   */
  readonly parts?: readonly string[];
}

export interface Request {
  readonly path?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const count = (rows: string) => `(select count(*) from ${rows})`;
/** The number of transactions that set this mark, or caused this event (`watch` in faults-run.ts records both). */
const times = (mark: string) => `(select count(distinct transaction) from bench.runs where sign = ${mark})`;
const absent = (rows: string) => `(select 1 - count(*) from ${rows})`;

const contributors = (sql: Sql, number: number) => sql<{ id: number }[]>`
  insert into contributors (first_name, slug, public)
  select 'Target ' || gen_random_uuid(), gen_random_uuid(), true from generate_series(1, ${number}::int)
  returning id
`;
const users = (sql: Sql, number: number) => sql<{ id: number }[]>`
  with added as (
    insert into users (username, slug)
    select 'Target ' || gen_random_uuid(), gen_random_uuid() from generate_series(1, ${number}::int)
    returning id
  ),
  given as (
    insert into user_roles (user_id, role_id)
    select added.id, roles.id from added join roles on roles.name = 'Swap ' || added.id % 2
  ),
  logged_in as (
    insert into refresh_tokens (digest, user_id, expires_at)
    select sha256(gen_random_uuid()::text::bytea), id, now() + interval '1 hour' from added, generate_series(1, 2)
  )
  select id from added
`;
const roles = (sql: Sql, number: number) => sql<{ id: number }[]>`
  insert into roles (name) select 'Target ' || gen_random_uuid() from generate_series(1, ${number}::int) returning id
`;
const permissions = (sql: Sql, number: number) => sql<{ id: number }[]>`
  insert into permissions (name) select 'Target ' || gen_random_uuid() from generate_series(1, ${number}::int) returning id
`;

/** The same records with an image, whose key contains the record's id. */
const withImages = (table: "contributors" | "users", prepare: NonNullable<Kind["prepare"]>) =>
  async function prepared(sql: Sql, number: number) {
    const made = await prepare(sql, number);
    await sql`
      update ${identifier(table)} set image = 'avatars/old-' || ${table} || id || '.webp'
      where id = any(${made.map(({ id }) => id)})
    `;
    return made;
  };

const swapped = (table: string) => {
  const record = `${table} where id = target and image not like '%/old-%'`;
  return [
    count(record),
    count(`${record} and image in (select key from bench.objects)`),
    count(`${record} and replace(image, '.webp', '-256.webp') in (select key from bench.objects)`),
    times(`'${table} image ' || target`),
  ];
};
const cleared = (table: string) => [
  count(`${table} where id = target and image is null`),
  times(`'${table} no image ' || target`),
];

const byId = (id: number) => ({ path: { id } });

/** Reads, writes and image updates, in the proportions of a busy day. */
export const kinds: readonly Kind[] = [
  { endpointPath: "contributors/list", share: 120, request: () => ({ query: { client: "1", limit: "20" } }) },
  { endpointPath: "contributor/random", share: 80, request: () => ({ query: { client: "1" } }) },
  { endpointPath: "publishers/list", share: 40, request: () => ({ query: { limit: "20" } }) },
  { endpointPath: "admin-contributors/list", share: 60, request: () => ({ query: { client: "1", limit: "20" } }) },
  { endpointPath: "admin-roles/id", share: 60, request: (_, __, { roles: [id] }) => byId(id) },
  { endpointPath: "admin-users/list", share: 40, request: () => ({ query: { limit: "20" } }) },
  {
    endpointPath: "admin-contributors/add",
    share: 60,
    request: (_, mark) => ({ body: { first_name: mark } }),
    parts: [count("contributors where first_name = mark"), times("mark")],
  },
  {
    endpointPath: "admin-contributors/edit",
    share: 80,
    prepare: contributors,
    request: (id, mark) => ({
      path: { id },
      body: {
        first_name: mark,
        gender: mark,
        public: true,
        links: ["https://example.com/one", "https://example.com/two"],
        added_aliases: [mark, { name: `${mark} too` }],
        added_descriptions: [{ description: mark, language: "English" }],
      },
    }),
    parts: [
      count("contributors where id = target and first_name = mark and gender = mark"),
      count("contributor_links where contributor_id = target and url like '%/one'"),
      count("contributor_links where contributor_id = target and url like '%/two'"),
      count("contributor_aliases where contributor_id = target and name = mark"),
      count("contributor_aliases where contributor_id = target and name = mark || ' too'"),
      count("contributor_descriptions where contributor_id = target and description = mark"),
      times("mark"),
    ],
  },
  {
    endpointPath: "admin-contributors/delete",
    share: 40,
    prepare: contributors,
    request: byId,
    parts: [absent("contributors where id = target"), times("'contributors gone ' || target")],
  },
  {
    endpointPath: "admin-users/edit",
    share: 90,
    prepare: users,
    request: (id, mark, scene) => ({
      path: { id },
      body: {
        username: mark,
        age_verified: true,
        removed_roles: [scene.roles[id % 2]],
        added_roles: [scene.roles[(id + 1) % 2]],
      },
    }),
    parts: [
      count("users where id = target and username = mark and age_verified"),
      count(
        "user_roles join roles on roles.id = role_id where user_id = target and name = 'Swap ' || (target + 1) % 2",
      ),
      absent("user_roles join roles on roles.id = role_id where user_id = target and name = 'Swap ' || target % 2"),
      times("mark"),
    ],
  },
  {
    endpointPath: "admin-users/delete",
    share: 30,
    prepare: users,
    request: byId,
    parts: [absent("users where id = target"), times("'users gone ' || target")],
  },
  {
    endpointPath: "admin-users/logout",
    share: 40,
    prepare: users,
    request: byId,
    parts: [
      "(select coalesce(bool_or(revoked_at is not null), true)::int from refresh_tokens where user_id = target)",
      "(select coalesce(bool_and(revoked_at is not null), true)::int from refresh_tokens where user_id = target)",
    ],
  },
  {
    endpointPath: "admin-roles/add",
    share: 30,
    request: (_, mark) => ({ body: { name: mark, description: "Made by the bench" } }),
    parts: [count("roles where name = mark"), times("mark")],
  },
  {
    endpointPath: "admin-roles/edit",
    share: 40,
    prepare: roles,
    request: (id, mark, { permission }) => ({
      path: { id },
      body: { name: mark, description: mark, added_permissions: [permission] },
    }),
    parts: [
      count("roles where id = target and name = mark and description = mark"),
      count("role_permissions where role_id = target"),
      times("mark"),
    ],
  },
  {
    endpointPath: "admin-roles/delete",
    share: 20,
    prepare: roles,
    request: byId,
    parts: [absent("roles where id = target"), times("'roles gone ' || target")],
  },
  {
    endpointPath: "admin-permissions/add",
    share: 20,
    request: (_, mark) => ({ body: { name: mark, description: "Made by the bench" } }),
    parts: [count("permissions where name = mark"), times("mark")],
  },
  {
    endpointPath: "admin-permissions/edit",
    share: 30,
    prepare: permissions,
    request: (id, mark) => ({ path: { id }, body: { name: mark, description: mark } }),
    parts: [count("permissions where id = target and name = mark and description = mark"), times("mark")],
  },
  {
    endpointPath: "admin-permissions/delete",
    share: 20,
    prepare: permissions,
    request: byId,
    parts: [absent("permissions where id = target"), times("'permissions gone ' || target")],
  },
  {
    endpointPath: "admin-contributors/update-avatar",
    share: 30,
    prepare: withImages("contributors", contributors),
    request: (id, _, { image }) => ({ path: { id }, body: { image } }),
    parts: swapped("contributors"),
  },
  {
    endpointPath: "admin-users/update-image",
    share: 30,
    prepare: withImages("users", users),
    request: (id, _, { image }) => ({ path: { id }, body: { image } }),
    parts: swapped("users"),
  },
  {
    endpointPath: "admin-contributors/delete-avatar",
    share: 20,
    prepare: withImages("contributors", contributors),
    request: byId,
    parts: cleared("contributors"),
  },
  {
    endpointPath: "admin-users/delete-image",
    share: 20,
    prepare: withImages("users", users),
    request: byId,
    parts: cleared("users"),
  },
];
