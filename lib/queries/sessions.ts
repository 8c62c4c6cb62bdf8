import sql, { type Sql } from "sql-template-tag";
import { imageUrl, instant, record } from "./fragments/json.ts";

/** The caller's session: who they are, which of this service's permissions they hold, and when it ends. */
export const find = (): Sql => sql`
  select null::bigint as version, null::text as warning, ${record(sql`
    ${record(sql`users.id, slug, username, ${imageUrl(sql`image`)} as profile_image`)} as user,
    caller.permission_keys as permissions,
    ${instant(sql`caller.expires_at`)} as expires
  `)} as body
  from users
  where id = caller.id
`;
