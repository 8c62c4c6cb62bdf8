import type { Entry } from "../../support/catalogue.ts";
import { identifier, type Sql } from "../../support/database.ts";
import { dataUrl, plain } from "../../support/pictures.ts";

/** What a change is made to. */
export interface Target {
  readonly contributor: Entry;
  readonly publisher: Entry;
  /** A series by the contributor, from the publisher. */
  readonly series: number;
  /** Others of their kind. */
  readonly others: { readonly contributor: number; readonly publisher: number; readonly series: number };
  /** Another number for each change. */
  readonly number: number;
}

export interface Roads {
  /** The database, as another program writes to it. */
  readonly sql: Sql;
  /** A request of the panel. */
  panel(method: "POST" | "DELETE", path: string, body?: unknown): Promise<{ readonly location: string }>;
}

export interface Change {
  /** Whether the panel makes it; another program does otherwise, without a notification. */
  readonly isPanel: boolean;
  make(target: Target, roads: Roads): Promise<unknown>;
}

const panel = (make: Change["make"]): Change => ({ isPanel: true, make });
const program = (make: (target: Target, sql: Sql) => Promise<unknown>): Change => ({
  isPanel: false,
  make: (target, { sql }) => make(target, sql),
});

const edit = (body: (target: Target, sql: Sql) => unknown): Change =>
  panel(async (target, { sql, panel }) =>
    panel("POST", `/admin-contributors/edit/${target.contributor.id}`, await body(target, sql)),
  );

/** The ids of what belongs to the contributor in a table. */
const idsOf = async (sql: Sql, table: string, { contributor }: Target): Promise<number[]> => {
  const rows = await sql<
    { id: number }[]
  >`select id from ${identifier(table)} where contributor_id = ${contributor.id}`;
  return rows.map(({ id }) => id);
};

/** Every endpoint that changes what the public reads, and every field of a contributor. */
const byPanel: Readonly<Record<string, Change>> = {
  "a contributor is added and published": panel(async ({ number }, { panel }) => {
    const { location } = await panel("POST", "/admin-contributors/add", { first_name: `Added ${number}` });
    await panel("POST", location.replace("/id/", "/edit/"), { public: true });
  }),
  "a name is edited": edit(({ number }) => ({ first_name: `Edited ${number}` })),
  "a gender is edited": edit(({ number }) => ({ gender: `${number}` })),
  "a contributor is hidden": edit(() => ({ public: false })),
  "a contributor is shown": panel(async (_, { sql, panel }) => {
    const [hidden] = await sql<{ id: number }[]>`select id from contributors where not public limit 1`;
    if (hidden) await panel("POST", `/admin-contributors/edit/${hidden.id}`, { public: true });
  }),
  "links are edited": edit(({ number }) => ({ links: [`https://example.com/${number}`] })),
  "an alias is added": edit(({ number }) => ({ added_aliases: [`Alias ${number}`] })),
  "aliases are removed": edit(async (target, sql) => ({
    removed_aliases: await idsOf(sql, "contributor_aliases", target),
  })),
  "a description is added": edit(({ number }) => ({
    added_descriptions: [{ description: `Added ${number}`, language: "German" }],
  })),
  "descriptions are edited": edit(async (target, sql) => ({
    modified_descriptions: (await idsOf(sql, "contributor_descriptions", target)).map((id) => ({
      id,
      description: `Edited ${target.number}`,
    })),
  })),
  "a relation is added": edit(({ number, others }) => ({
    added_relations: [{ relation_id: others.contributor, relation_type: `${number}` }],
  })),
  "relations are edited": edit(async (target, sql) => ({
    modified_relations: (await idsOf(sql, "contributor_relations", target)).map((id) => ({
      id,
      relation_type: `${target.number}`,
    })),
  })),
  "an avatar is set": panel(async ({ contributor, number }, { panel }) => {
    const picture = await plain(`#${(0x100000 + number).toString(16)}`)
      .png()
      .toBuffer();
    await panel("POST", `/admin-contributors/update-avatar/${contributor.id}`, { image: dataUrl(picture) });
  }),
  "an avatar is removed": panel(async (_, { sql, panel }) => {
    const [shown] = await sql<{ id: number }[]>`select id from contributors where image is not null and public limit 1`;
    if (shown) await panel("DELETE", `/admin-contributors/delete-avatar/${shown.id}`);
  }),
  "a contributor is deleted": panel(({ contributor }, { panel }) =>
    panel("DELETE", `/admin-contributors/delete/${contributor.id}`),
  ),
};

/** Every table that the public reads. */
const byProgram: Readonly<Record<string, Change>> = {
  "contributors +": program(
    ({ number }, sql) =>
      sql`insert into contributors (first_name, slug, public) values (${`Inserted ${number}`}, ${`inserted-${number}`}, true)`,
  ),
  "contributors ~": program(
    ({ contributor, number }, sql) =>
      sql`update contributors set last_name = ${`Changed ${number}`} where id = ${contributor.id}`,
  ),
  "contributors ~ public": program(
    ({ contributor }, sql) => sql`update contributors set public = not public where id = ${contributor.id}`,
  ),
  "contributors ~ not public": program(
    (_, sql) =>
      sql`update contributors set public = true where id = (select id from contributors where not public limit 1)`,
  ),
  "contributors -": program(({ contributor }, sql) => sql`delete from contributors where id = ${contributor.id}`),
  "contributor_links +": program(
    ({ contributor, number }, sql) => sql`
      insert into contributor_links (contributor_id, position, url)
      values (${contributor.id}, ${number}, ${`https://example.com/${number}`})
    `,
  ),
  "contributor_links -": program(
    ({ contributor }, sql) => sql`delete from contributor_links where contributor_id = ${contributor.id}`,
  ),
  "contributor_aliases ~": program(
    ({ contributor, number }, sql) =>
      sql`update contributor_aliases set name = ${`Changed ${number}`} where contributor_id = ${contributor.id}`,
  ),
  "contributor_aliases +": program(
    ({ contributor, number }, sql) =>
      sql`insert into contributor_aliases (contributor_id, name) values (${contributor.id}, ${`Inserted ${number}`})`,
  ),
  "contributor_descriptions ~": program(
    ({ contributor, number }, sql) => sql`
      update contributor_descriptions set source = ${`${number}`} where contributor_id = ${contributor.id}
    `,
  ),
  "contributor_relations +": program(
    ({ contributor, others, number }, sql) => sql`
      insert into contributor_relations (contributor_id, relation_id, relation_type)
      values (${contributor.id}, ${others.contributor}, ${`${number}`})
    `,
  ),
  "contributor_relations -": program(
    ({ contributor }, sql) => sql`delete from contributor_relations where contributor_id = ${contributor.id}`,
  ),
  "publishers +": program(
    ({ number }, sql) =>
      sql`insert into publishers (name, slug) values (${`Inserted ${number}`}, ${`inserted-${number}`})`,
  ),
  "publishers ~": program(
    ({ publisher, number }, sql) =>
      sql`update publishers set country = ${`Country ${number}`} where id = ${publisher.id}`,
  ),
  "publishers -": program(async ({ number }, sql) => {
    await sql`delete from publishers where id = (select max(id) - ${number % 3}::int from publishers)`;
  }),
  "publisher_aliases +": program(
    ({ publisher, number }, sql) => sql`
      insert into publisher_aliases (publisher_id, title, language) values (${publisher.id}, ${`${number}`}, 'English')
    `,
  ),
  "publisher_descriptions ~": program(
    ({ publisher, number }, sql) => sql`
      update publisher_descriptions set description = ${`Changed ${number}`} where publisher_id = ${publisher.id}
    `,
  ),
  "publisher_relations ~": program(
    ({ publisher, number }, sql) =>
      sql`update publisher_relations set type = ${`${number}`} where publisher_id = ${publisher.id}`,
  ),
  "series +": program(
    ({ contributor, number }, sql) => sql`
      with added as (
        insert into series (name, slug) values (${`Inserted ${number}`}, ${`inserted-${number}`}) returning id
      )
      update series_contributors set series_id = added.id from added where contributor_id = ${contributor.id}
    `,
  ),
  "series ~": program(
    ({ series, number }, sql) => sql`update series set name = ${`Changed ${number}`} where id = ${series}`,
  ),
  "series -": program(({ series }, sql) => sql`delete from series where id = ${series}`),
  "series_aliases ~": program(
    ({ series, number }, sql) =>
      sql`update series_aliases set name = ${`Changed ${number}`} where series_id = ${series}`,
  ),
  "series_descriptions ~": program(
    ({ series, number }, sql) =>
      sql`update series_descriptions set description = ${`Changed ${number}`} where series_id = ${series}`,
  ),
  "series_tags +": program(
    ({ series }, sql) => sql`
      insert into series_tags (series_id, tag_id) select ${series}::bigint, max(id) from tags on conflict do nothing
    `,
  ),
  "series_tags -": program(({ series }, sql) => sql`delete from series_tags where series_id = ${series}`),
  "tags ~": program(
    ({ series, number }, sql) => sql`
      update tags set name = ${`Changed ${number}`}
      where id = (select max(tag_id) from series_tags where series_id = ${series})
    `,
  ),
  "volumes ~": program(
    ({ series, number }, sql) => sql`update volumes set cover = ${`${number}.webp`} where series_id = ${series}`,
  ),
  "volumes +": program(
    ({ series, number }, sql) => sql`insert into volumes (series_id, number) values (${series}, ${-number})`,
  ),
  "series_contributors ~": program(
    ({ contributor, others }, sql) =>
      sql`update series_contributors set series_id = ${others.series} where contributor_id = ${contributor.id}`,
  ),
  "series_contributors -": program(
    ({ contributor }, sql) => sql`delete from series_contributors where contributor_id = ${contributor.id}`,
  ),
  "series_publishers ~": program(
    ({ publisher, series, others }, sql) => sql`
      update series_publishers set publisher_id = ${others.publisher}
      where publisher_id = ${publisher.id} and series_id = ${series}
    `,
  ),
  "series_publishers -": program(
    ({ publisher }, sql) => sql`
      delete from series_publishers
      where (publisher_id, series_id) = (
        select publisher_id, series_id from series_publishers where publisher_id = ${publisher.id} limit 1
      )
    `,
  ),
};

/** All kinds of changes, by a name for people. */
export const changes: Readonly<Record<string, Change>> = { ...byPanel, ...byProgram };

/**
 * Changes as a text has them, one a line: a statement, or a request of the panel such as
 * `POST /admin-contributors/edit/{contributor} {"gender": "{number}"}`. Of `Target`, `{contributor}`, `{publisher}`,
 * `{series}` and `{number}` may be in them.
 */
export function readChanges(text: string): Readonly<Record<string, Change>> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const filled = ({ contributor, publisher, series, number }: Target) =>
        Object.entries({ contributor: contributor.id, publisher: publisher.id, series, number }).reduce(
          (result, [name, value]) => result.replaceAll(`{${name}}`, `${value}`),
          line,
        );
      const isPanel = /^(?:POST|DELETE) /.test(line);
      const make: Change["make"] = async (target, { sql, panel }) => {
        const [, method, path = "", body] = /^(POST|DELETE) (\S+) ?(.*)$/.exec(filled(target)) ?? [];
        if (!isPanel) return await sql.query(filled(target));
        return await panel(method === "DELETE" ? method : "POST", path, body ? JSON.parse(body) : undefined);
      };
      return [line, { isPanel, make }];
    }),
  );
}
