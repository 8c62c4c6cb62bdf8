import sql, { type Sql } from "sql-template-tag";
import type { Permission } from "../contract/permissions.ts";
import { released } from "./release.ts";

/** Who calls, and what they must hold. */
export interface Guard {
  /** SHA-256 of the refresh token, hexadecimal. */
  readonly digest: string;
  readonly permission: Permission;
  /** The status for a valid session whose user has been deleted. */
  readonly userMissing: 401 | 404;
}

/**
 * A select behind its guard: one row, `status` and `caller_id` before the columns of the select, which are null unless
 * the status is 200. `caller` has the user's id inside of it. It is a function of the database that decides, since it
 * keeps its plan (lib/changes/authority.sql). `offset 0` has the status looked at before the select is.
 */
export const guarded = ({ digest, permission, userMissing }: Guard, select: Sql): Sql => sql`
  select caller.status, caller.id as caller_id, answer.*
  from
    ${released("caller")}(${digest}::text, ${permission}::text, ${userMissing}::int) as caller
    left join lateral (select * from (${select}) as answer where caller.status = 200 offset 0) as answer on true
`;
