import sql, { empty, type Sql } from "sql-template-tag";
import type { getAdminContributor, listAdminContributors } from "../contract/admin-contributors.ts";
import type { Filters, QueryOf } from "../contract/declare.ts";
import type { ListQuery } from "../data-api/list.ts";
import { aliases, descriptions, fieldsOf, links, listOf, relations } from "./contributors.ts";
import { imageUrl, record } from "./fragments/json.ts";
import { opened, otherEditor } from "./fragments/locks.ts";

/** Contributors, unpublished ones included. */
export const list = ({
  include,
  public: isPublic,
  type,
  website,
  ...input
}: Filters<typeof listAdminContributors>): ListQuery =>
  listOf(input, {
    subject: "contributors",
    conditions: conditionsOf(isPublic, type, website),
    optional: "locked_by",
    fields: sql`
      id, first_name, coalesce(last_name, '') as last_name, slug, coalesce(${imageUrl(sql`image`)}, '') as image
      ${fieldsOf(include)}, ${otherEditor("contributor")} as locked_by
    `,
  });

/** Whether public endpoints show the contributor, its type, and whether it has a link. */
const conditionsOf = (
  isPublic: "true" | "false" | undefined,
  type: string | undefined,
  website: "true" | "false" | undefined,
): Sql | undefined =>
  isPublic === undefined && type === undefined && website === undefined
    ? undefined
    : sql`
        ${isPublic === undefined ? empty : isPublic === "true" ? sql`and public` : sql`and not public`}
        ${type === undefined ? empty : sql`and type = ${type}::text`}
        ${website === undefined ? empty : sql`and ${website === "true" ? empty : sql`not`} ${hasLink}`}
      `;

const hasLink = sql`exists (select from contributor_links where contributor_id = contributors.id)`;

/** A contributor; it takes the edit lock, unless the request says `lock=none`. */
export const find = (id: number | null, { include, lock }: QueryOf<typeof getAdminContributor> = {}): Sql => sql`
  select version, warning, ${record(sql`
    id, first_name, coalesce(last_name, '') as last_name, slug, coalesce(${imageUrl(sql`image`)}, '') as image,
    coalesce(gender, '') as gender, ${links} as links, ${aliases} as aliases, ${descriptions(include)} as descriptions,
    ${relations} as relations
    ${fieldsOf(include)}
  `)} as body
  from contributors, ${opened("contributor", lock)}
  where id = ${id}::bigint and still_exists
`;
