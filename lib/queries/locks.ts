import sql, { type Sql } from "sql-template-tag";
import { holds } from "../database/guard.ts";

/* Edit locks (design, "Edit locks"): they tell who is editing a record, and refuse nothing. */

const kinds = {
  user: { table: sql`users`, locks: sql`user_locks`, reference: sql`user_id`, permission: "edit-users" },
  contributor: {
    table: sql`contributors`,
    locks: sql`contributor_locks`,
    reference: sql`contributor_id`,
    permission: "edit-contributors",
  },
} as const;

type Kind = keyof typeof kinds;

/** Who else is editing the record, as JSON; null when nobody is, or the caller. */
export function otherEditor(kind: Kind, record: Sql): Sql {
  const { locks, reference } = kinds[kind];
  return sql`
    (
      select jsonb_build_object('id', holder.id, 'username', holder.username)
      from ${locks} as held join users as holder on holder.id = held.holder_id
      where
        held.${reference} = ${record}
        and held.expires_at > now()
        and held.holder_id not in (select id from caller)
    )
  `;
}

/** Callers who may edit take the lock for 15 minutes, or renew it, unless somebody else has it. */
export function lockTaken(kind: Kind, id: number | null): Sql {
  const { table, locks, reference, permission } = kinds[kind];
  return sql`
    locked as (
      insert into ${locks} as held (${reference}, holder_id, expires_at)
      select record.id, caller.id, now() + interval '15 minutes'
      from ${table} as record, caller
      where record.id = ${id}::bigint and ${holds(sql`caller.id`, permission)}
      on conflict (${reference}) do update
      set
        holder_id = excluded.holder_id,
        expires_at = excluded.expires_at
      where held.holder_id = excluded.holder_id or held.expires_at <= now()
    )
  `;
}
