import { describe, expect, inject, it } from "vitest";
import { withConnection } from "../../../../infra/aws-local/postgres/connection.ts";
import { avatars } from "../../../../infra/local/demo/drawings.ts";
import { loadDemo, readCatalogue } from "../../../../infra/local/demo/load.ts";
import { renewTokens } from "../../../../infra/local/demo/users.ts";
import { useStack } from "../../../support/stack.ts";

const stack = useStack();
const urlOf = () => `${inject("databaseUrl")}/${process.env.DATABASE_NAME}`;

describe("The demo data", () => {
  it("can be loaded without users, whose tokens are known", async () => {
    await loadDemo(stack.lambda, urlOf(), { users: false });

    await stack.sql`insert into users (username, slug) values ('editor', 'editor')`;

    // A user of that name is not a demo user.
    expect(await withConnection(urlOf(), (client) => renewTokens(client, "http://localhost/provider"))).toEqual([]);
    expect(await stack.sql`select from refresh_tokens`).toHaveLength(0);
    expect(await stack.sql`select from identities`).toHaveLength(0);
    expect((await stack.sql`select from contributors`).length).toBeGreaterThan(0);
  });

  it("have avatars that are drawn", async () => {
    const keys = new Set(avatars(await readCatalogue()).map(([key]) => key));

    const loaded = await stack.sql`select image from contributors where image is not null`;

    expect(new Set(loaded.map(({ image }) => image))).toEqual(keys);
  });

  it("have shared series of a contributor and of a publisher that only one client may see", async () => {
    const owners = await stack.sql`
      select owners.slug
      from
        series
        join (
          select series_id, slug, client_id from series_contributors join contributors on contributors.id = contributor_id
          union all
          select series_id, slug, client_id from series_publishers join publishers on publishers.id = publisher_id
        ) as owners on owners.series_id = series.id
      where series.client_id is null and owners.client_id = 2
    `;

    expect(owners).toEqual(expect.arrayContaining([{ slug: "mary-shelley" }, { slug: "heyne-verlag" }]));
  });
});
