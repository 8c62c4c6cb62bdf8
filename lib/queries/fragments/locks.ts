import sql, { raw, type Sql } from "sql-template-tag";
import { inReleaseSchema } from "../../data-api/release.ts";
import { record } from "./json.ts";

/* Edit locks (lib/contract/README.md, "Edit locks"): they show who is editing a record, and refuse nothing. */

type Kind = "user" | "contributor";

/** The other user who is editing the record, as JSON; null if there is none. */
export const otherEditor = (kind: Kind): Sql => sql`
  (
    select ${record(sql`editor.id, editor.username`)}
    from ${raw(`${kind}_locks`)} as lock join users as editor on editor.id = lock.editor_id
    where
      lock.${raw(`${kind}_id = ${kind}s.id`)}
      and lock.expires_at > now()
      and lock.editor_id <> caller.id
  )
`;

/** Takes the record's edit lock if the caller may edit it (lib/changes/open-record.sql), unless the request says `lock=none`. */
export const opened = (kind: Kind, lock?: "none"): Sql =>
  lock === "none"
    ? sql`(values (true, null::text)) as opened (still_exists, warning)`
    : sql`lateral ${inReleaseSchema("open_record")}(session.digest, ${kind}::text, ${raw(`${kind}s.id`)}) as opened`;
