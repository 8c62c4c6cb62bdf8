import sql from "sql-template-tag";
import type { ResponseBody } from "../contract/declare.ts";
import type { RecordQuery } from "../data-api/query.ts";
import { imageUrl } from "./fragments/images.ts";
import { instant } from "./fragments/instant.ts";
import { record } from "./fragments/json.ts";

/** The caller's session: who they are, which of this service's permissions they hold, and when it ends. */
export const find = (): RecordQuery<ResponseBody<"Session">> => sql`
  select null::bigint as version, ${record(sql`
    ${record(sql`users.id, slug, username, ${imageUrl(sql`image`)} as profile_image`)} as user,
    array(
      select key
      from permissions
      where
        key is not null
        and id in (
          select permission_id
          from user_roles join role_permissions using (role_id)
          where user_roles.user_id = users.id
        )
      order by id
    ) as permissions,
    ${instant(sql`caller.expires_at`)} as expires
  `)} as body
  from users
  where id = caller.id
`;
