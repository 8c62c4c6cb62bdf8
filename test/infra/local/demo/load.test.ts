import { describe, expect, inject, it } from "vitest";
import { withConnection } from "../../../../infra/aws-local/postgres/connection.ts";
import { avatars } from "../../../../infra/local/demo/drawings/avatars.ts";
import { loadDemo, readCatalogue } from "../../../../infra/local/demo/load.ts";
import { renewTokens } from "../../../../infra/local/demo/tokens.ts";
import { useStack } from "../../../support/stack.ts";

const stack = useStack();
const urlOf = () => `${inject("databaseUrl")}/${process.env.DATABASE_NAME}`;

describe("The demo data", () => {
  it("can be loaded without users, whose tokens are known", async () => {
    await loadDemo(stack.lambda, urlOf(), { users: false });

    await stack.sql`insert into users (username, slug) values ('editor', 'editor')`;

    // A user of that name is not a demo user.
    expect(await withConnection(urlOf(), renewTokens)).toEqual({ valid: [], renewed: [] });
    expect(await stack.sql`select from refresh_tokens`).toHaveLength(0);
    expect((await stack.sql`select from contributors`).length).toBeGreaterThan(0);
  });

  it("have avatars that are drawn", async () => {
    const keys = new Set(avatars(await readCatalogue()).map(([key]) => key));

    const loaded = await stack.sql`select image from contributors where image is not null`;

    expect(new Set(loaded.map(({ image }) => image))).toEqual(keys);
  });

  it("have shared series of a contributor and of a publisher that only one client may see", async () => {
    const contributors = await stack.sql`
      select contributors.slug
      from
        series
        join series_contributors on series_id = series.id
        join contributors on contributors.id = contributor_id
      where series.client_id is null and contributors.client_id = 2
    `;
    const publishers = await stack.sql`
      select publishers.slug
      from
        series
        join series_publishers on series_id = series.id
        join publishers on publishers.id = publisher_id
      where series.client_id is null and publishers.client_id = 2
    `;

    expect(contributors).toContainEqual({ slug: "mary-shelley" });
    expect(publishers).toContainEqual({ slug: "heyne-verlag" });
  });
});
