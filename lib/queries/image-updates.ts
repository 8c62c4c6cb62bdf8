import sql, { type Sql } from "sql-template-tag";
import type { GuardedQuery } from "../database/query.ts";
import type { Owner } from "../images/keys.ts";
import { exceedsCaller, permissionsOfUser } from "./authority.ts";
import { allowed } from "./verdict.ts";

type Id = number | null;

const owners = {
  users: { table: sql`users`, exceeds: (id: Id) => exceedsCaller(permissionsOfUser(sql`${id}::bigint`)) },
  contributors: { table: sql`contributors`, exceeds: () => sql`false` },
} as const;

/**
 * The record whose image is to change, and whether the caller may. The row is locked, so that updates of one record
 * take turns, and each sees the image that the one before has left.
 */
const target = (owner: Owner, id: Id, otherwise: Sql): Sql => sql`
  target as materialized (
    select id, image
    from ${owners[owner].table}
    where id = ${id}::bigint and exists (select from caller)
    for no key update
  ),
  verdict as materialized (
    select
      case
        when not exists (select from target) then 404
        when ${owners[owner].exceeds(id)} then 403
        ${otherwise}
        else 200
      end as status
    from caller
  )
`;

/**
 * Lets the caller in and notes the objects that are about to be written as ones to remove. An update takes less than
 * half a minute; after an hour they are left over from one that broke off.
 */
export const announce = (owner: Owner, id: Id, key: string): GuardedQuery<null> => ({
  with: sql`
    ${target(owner, id, sql``)},
    noted as (
      insert into images_to_remove (key, remove_after)
      select ${key}::text, now() + interval '1 hour'
      where ${allowed}
    ),
  `,
  select: sql`select status, null from verdict`,
});

const previous = sql`select status, case status when 200 then (select to_json(image) from target) end from verdict`;

/**
 * Makes the record refer to its new image, and notes the old one in its place; gives the key of the old one. A note
 * about to fall due may have been read for removal already, so it is no longer one to strike out.
 */
export const swap = (owner: Owner, id: Id, key: string): GuardedQuery<string | null> => ({
  with: sql`
    ${target(
      owner,
      id,
      sql`
        when not exists (
          select
          from images_to_remove
          where key = ${key}::text and remove_after > now() + interval '5 minutes'
        ) then 500
      `,
    )},
    updated as (
      update ${owners[owner].table}
      set image = ${key}::text
      where id = ${id}::bigint and ${allowed}
    ),
    struck as (
      delete from images_to_remove
      where key = ${key}::text and ${allowed}
    ),
    noted as (
      insert into images_to_remove as note (key)
      select image from target where image is not null and ${allowed}
      union all
      select ${key}::text from verdict where status <> 200
      on conflict (key) do update
      set remove_after = excluded.remove_after
    ),
  `,
  select: previous,
});

/** Ends the record's reference to its image, and gives the key; a record without one is an error of the interface. */
export const clear = (owner: Owner, id: Id): GuardedQuery<string | null> => ({
  with: sql`
    ${target(owner, id, sql`when exists (select from target where image is null) then 500`)},
    updated as (
      update ${owners[owner].table}
      set image = null
      where id = ${id}::bigint and ${allowed}
    ),
    noted as (
      insert into images_to_remove as note (key)
      select image from target where ${allowed}
      on conflict (key) do update
      set remove_after = excluded.remove_after
    ),
  `,
  select: previous,
});

/** Reads the key that `swap` and `clear` give. */
export function previousKey({ text }: { readonly text: string | null }): string | null {
  const key: unknown = JSON.parse(text ?? "null");
  return typeof key === "string" ? key : null;
}

/** Noted images whose time has come, in the order of their keys, after a key. */
export const due = (after: string, limit: number): Sql => sql`
  select key
  from images_to_remove
  where remove_after <= now() and key > ${after}::text
  order by key
  limit ${limit}::bigint
`;

/** Strikes out notes of images that have been removed; gives one row for each. */
export const strike = (keys: readonly string[]): Sql => sql`
  delete from images_to_remove
  where
    key in (select value from json_array_elements_text(${JSON.stringify(keys)}::json))
    and remove_after <= now()
  returning 1
`;

/** How many images are noted. */
export const noted = (): Sql => sql`select count(*) from images_to_remove`;
