import { scale } from "../../../infra/local/demo/scale.ts";
import type { Entry } from "../../support/catalogue.ts";
import type { Sql } from "../../support/database.ts";
import type { Target } from "./changes.ts";

const contributors = 2_000;

/**
 * Fills a database: contributors have an alias, a description, a relation and one series, which is random in their list
 * otherwise; series have tags, an alias and a description, and publishers what they may have.
 */
export async function fill(databaseUrl: string, sql: Sql): Promise<void> {
  await scale(databaseUrl, contributors);
  await sql.query(`
    delete from series_contributors as link
    where series_id <> (select min(series_id) from series_contributors where contributor_id = link.contributor_id);
    insert into contributor_aliases (contributor_id, name) select id, 'Alias ' || id from contributors;
    insert into contributor_links (contributor_id, position, url) select id, 0, 'https://example.com/' from contributors;
    insert into contributor_descriptions (contributor_id, language, description)
    select id, 'English', 'About ' || id from contributors;
    insert into contributor_relations (contributor_id, relation_id, relation_type)
    select id, 1 + id % ${contributors}, 'friend' from contributors;
    insert into publisher_descriptions (publisher_id, language, description)
    select id, 'English', 'About ' || id from publishers;
    insert into publisher_relations (publisher_id, relation_id, type)
    select id, (select min(id) from publishers), 'imprint' from publishers where id > (select min(id) from publishers);
    insert into series_aliases (series_id, name, language) select id, 'Alias ' || id, 'English' from series;
    insert into series_descriptions (series_id, description, language) select id, 'About ' || id, 'English' from series;
    insert into tags (name) select 'Tag ' || n from generate_series(1, 20) as n;
    insert into series_tags (series_id, tag_id)
    select series.id, tags.id from series join tags on tags.id % 19 = series.id % 19;
  `);
}

/** Picks what is changed: a contributor with a series that has a publisher. */
export async function pick(sql: Sql, next: () => number, number: number): Promise<Target> {
  const [target] = await sql<Target[]>`
    select
      contributor.id as contributor,
      contributor.slug,
      publisher.id as publisher,
      publisher.slug as "publisherSlug",
      series_publishers.series_id as series,
      (select max(id) from contributors where id < contributor.id) as "otherContributor",
      (select max(id) from publishers where id <> publisher.id) as "otherPublisher",
      (select max(id) from series where id <> series_publishers.series_id) as "otherSeries",
      array(select cast(id as int) from contributor_aliases where contributor_id = contributor.id) as aliases,
      (
        select json_agg(json_build_object('id', id, 'description', 'Edited ' || ${number}::int))
        from contributor_descriptions
        where contributor_id = contributor.id
      ) as descriptions,
      (
        select json_agg(json_build_object('id', id, 'relation_type', cast(${number}::int as text)))
        from contributor_relations
        where contributor_id = contributor.id
      ) as relations,
      ${number}::int as number
    from
      contributors as contributor
      join series_contributors on contributor_id = contributor.id
      join series_publishers using (series_id)
      join publishers as publisher on publisher.id = publisher_id
      join series on series.id = series_id
    where
      contributor.id > ${1 + Math.floor(next() * 300)}
      and contributor.public
      and contributor.scope in (0, 1)
      and series.scope in (0, 1)
    order by contributor.id
    limit 1
  `;
  if (!target) throw new Error("Nothing is left to change");
  return target;
}

/**
 * A thousand URLs of a site, the most frequent first: mostly records, and eight of a hundred are pages of lists.
 */
export async function urlsOf(sql: Sql, next: () => number): Promise<string[]> {
  const people = await sql<Entry[]>`select id, slug from contributors where public order by id limit 770`;
  const houses = await sql<Entry[]>`select id, slug from publishers order by id limit 20`;
  const pages = (path: string, orders: readonly string[], count: number) =>
    orders.flatMap((order) =>
      Array.from({ length: count }, (_, n) => `${path}order=${order}&limit=50&offset=${n * 50}`),
    );
  const urls = [
    ...people.map(({ slug }) => `/contributor/slug/${slug}`),
    ...people.slice(0, 110).map(({ id }) => `/contributor/works/${id}?client=1&limit=50`),
    ...houses.map(({ slug }) => `/publisher/slug/${slug}`),
    ...houses.map(({ id }) => `/publisher/publications/${id}?client=1&limit=20`),
    ...pages("/contributors?client=1&", ["name-asc", "added-desc"], 25),
    ...pages("/contributors?client=2&", ["name-asc"], 10),
    ...people.slice(0, 12).map(({ id }) => `/contributors?client=1&search=alias%20${id}&limit=50`),
    ...pages("/publishers?", ["name-asc", "name-desc", "added-asc", "added-desc"], 1),
    ...["a", "e", "i", "o"].map((search) => `/publishers?search=${search}&limit=20`),
  ];
  return urls
    .map((url) => ({ url, place: next() }))
    .sort((one, other) => one.place - other.place)
    .map(({ url }) => url);
}

/** Picks URLs by Zipf: the n-th is read 1/n as often as the first. */
export function zipf(urls: readonly string[], next: () => number): () => string {
  let total = 0;
  const sums = urls.map((url, n) => {
    total += 1 / (n + 1);
    return { url, total };
  });
  return () => {
    const place = next() * total;
    return sums.find((each) => each.total >= place)?.url ?? "/";
  };
}
