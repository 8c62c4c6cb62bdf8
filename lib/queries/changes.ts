import sql, { empty, type Sql } from "sql-template-tag";
import type { ListQuery } from "../database/list.ts";

export interface Filters {
  /** By id, or by the name that the user has now or had at that time. */
  readonly user?: string | number | undefined;
  /** A path in `functions/`, or its first folder. */
  readonly endpoint?: string | undefined;
  readonly record?: number | undefined;
  /** ISO 8601. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** The ledger, newest first. */
export const list = (filters: Filters): ListQuery<unknown> => ({
  max: sql`select 0::bigint`,
  fields: sql`
    id, at, request_id as "requestId", endpoint, caller_id as "userId", username, record_id as record, asked, before
  `,
  key: sql`id`,
  rows: ({ after, limit }) => sql`
    from changes
    where ${matching(filters)} ${after ? sql`and id < ${after.id}::bigint` : empty}
    order by id desc
    limit ${limit}::bigint
  `,
});

const matching = ({ user, endpoint, record, since, until }: Filters): Sql => sql`
  true
  ${typeof user === "number" ? sql`and caller_id = ${user}::bigint` : empty}
  ${typeof user === "string" ? sql`and (identity_key(username) = ${key(user)} or caller_id in (select id from users where identity_key(username) = ${key(user)}))` : empty}
  ${endpoint === undefined ? empty : sql`and endpoint || '/' like ${endpoint}::text || '/%'`}
  ${record === undefined ? empty : sql`and record_id = ${record}::bigint`}
  ${since === undefined ? empty : sql`and at >= ${since}::timestamptz`}
  ${until === undefined ? empty : sql`and at < ${until}::timestamptz`}
`;

const key = (name: string): Sql => sql`identity_key(${name}::text)`;
