import sql, { type Sql } from "sql-template-tag";
import { released } from "../../database/release.ts";
import { record } from "./json.ts";

/* Edit locks (lib/contract/README.md, "Edit locks"): they tell who is editing a record, and refuse nothing. */

const kinds = {
  user: { locks: sql`user_locks`, reference: sql`user_id` },
  contributor: { locks: sql`contributor_locks`, reference: sql`contributor_id` },
} as const;

type Kind = keyof typeof kinds;

/** Who else is editing the record, as JSON; null when nobody is, or the caller. */
export function otherEditor(kind: Kind, target: Sql): Sql {
  const { locks, reference } = kinds[kind];
  return sql`
    (
      select ${record(sql`holder.id, holder.username`)}
      from ${locks} as held join users as holder on holder.id = held.holder_id
      where
        held.${reference} = ${target}
        and held.expires_at > now()
        and held.holder_id <> caller.id
    )
  `;
}

/** Takes the record's edit lock for a caller who may edit it; false when the record has just gone. */
export const opened = (kind: Kind, id: number | null): Sql =>
  sql`${released(`open_${kind}`)}(caller.id, ${id}::bigint)`;
