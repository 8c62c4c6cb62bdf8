import sql, { type Sql } from "sql-template-tag";
import { inReleaseSchema } from "../../data-api/release.ts";
import { record } from "./json.ts";

/* Edit locks (lib/contract/README.md, "Edit locks"): they show who is editing a record, and refuse nothing. */

const kinds = {
  user: { locks: sql`user_locks`, reference: sql`user_id` },
  contributor: { locks: sql`contributor_locks`, reference: sql`contributor_id` },
} as const;

type Kind = keyof typeof kinds;

/** The other user who is editing the record, as JSON; null if there is none. */
export function otherEditor(kind: Kind, target: Sql): Sql {
  const { locks, reference } = kinds[kind];
  return sql`
    (
      select ${record(sql`editor.id, editor.username`)}
      from ${locks} as lock join users as editor on editor.id = lock.editor_id
      where
        lock.${reference} = ${target}
        and lock.expires_at > now()
        and lock.editor_id <> caller.id
    )
  `;
}

/** Takes the record's edit lock if the caller may edit it (lib/changes/open-record.sql), unless the request says `lock=none`. */
export const opened = (kind: Kind, id: Sql, lock?: "none"): Sql =>
  lock === "none"
    ? sql`(values (true, null::text)) as opened (still_exists, warning)`
    : sql`lateral ${inReleaseSchema("open_record")}(session.digest, ${kind}::text, ${id}) as opened`;
