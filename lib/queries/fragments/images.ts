import sql, { type Sql } from "sql-template-tag";
import { imageUrl, records } from "./json.ts";

/** The longer side of a small image (lib/images/render.ts). */
const smallPixelsMax = sql`256.0`;

/**
 * The stored sizes of a record's image, the small one first; none if the size is not known. Only avatars have a small one,
 * and it is left out if it is no smaller.
 */
export const imagesOf = (table: Sql): Sql => sql`
  ${records(sql`
    select url, width, height
    from
      (
        select
          image as key,
          split_part(image_size, 'x', 1)::int as full_width,
          split_part(image_size, 'x', 2)::int as full_height
        from (select ${table}.image, ${table}.image_size) as stored
        where image is not null and image_size is not null
      ) as stored
      cross join lateral (
        select
          ${imageUrl(sql`regexp_replace(key, '(\\.\\w+)?$', '-256\\1')`)} as url,
          greatest(1, round(full_width * ${smallPixelsMax} / longer))::int as width,
          greatest(1, round(full_height * ${smallPixelsMax} / longer))::int as height
        from (select greatest(full_width, full_height) as longer) as side
        where key ~ '^avatars/[^/]+$' and longer > ${smallPixelsMax}
        union all
        select ${imageUrl(sql`key`)}, full_width, full_height
      ) as sizes
    order by width, height
  `)} as images
`;
