import sql, { type Sql } from "sql-template-tag";
import type { Permission } from "../contract/permissions.ts";
import { inReleaseSchema } from "./release.ts";

/** Who calls an endpoint, and which permission it requires; none if the session is enough. */
export interface Guard {
  /** SHA-256 of the refresh token, hexadecimal. */
  readonly digest: string;
  readonly permission?: Permission;
  /** The status for a valid session whose user has been deleted. */
  readonly userMissing: 401 | 404;
}

/**
 * Puts a select behind its guard, if there is one. Then it gives one row: `status`, `caller_id` and the columns of the
 * select, which are null unless the status is 200. The select may use `caller.id` and `session.digest`, and without a
 * permission `caller.permission_keys` and `caller.expires_at`. A database function decides, since its plan is kept
 * (lib/changes/authority.sql). `offset 0` makes PostgreSQL check the status before it runs the select.
 */
export const guarded = (guard: Guard | undefined, select: Sql): Sql =>
  guard
    ? sql`
      select caller.status, caller.id as caller_id, result.*
      from
        (values (${guard.digest}::text)) as session (digest)
        cross join ${callerOf(guard)} as caller
        left join lateral (select * from (${select}) as result where caller.status = 200 offset 0) as result on true
    `
    : select;

/** Status and caller, for every row that a statement gives with or without a guard. */
export const statusOf = (guard: Guard | undefined): Sql => (guard ? sql`status, caller_id` : sql`200, null::bigint`);

const callerOf = ({ permission, userMissing }: Guard): Sql =>
  permission
    ? sql`${inReleaseSchema("caller")}(session.digest, ${permission}::text, ${userMissing}::int)`
    : sql`${inReleaseSchema("session_caller")}(session.digest)`;
