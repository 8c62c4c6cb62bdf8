import { describe, expect, it } from "vitest";
import { aPublisher, aSeries } from "../../support/catalogue.ts";
import { itListsSeries } from "../../support/series-lists.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

const publicationsOf = (id: number | string, query: Record<string, string | number> = {}) =>
  stack.call("publisher/publications", { path: { id }, query: { client: 1, ...query } });

describe("GET /publisher/publications/{id}", () => {
  it("answers 200 with every field of the interface, all aliases included", async () => {
    const { sql } = stack;
    const publisher = await aPublisher(sql);
    const series = await aSeries(
      sql,
      { from: publisher },
      { name: "AKIRA", slug: "akira", type: "manga", origin: "Japan" },
    );
    const aliases = await sql`
      insert into series_aliases (series_id, name, language)
      values (${series.id}, 'アキラ', 'Japanese'), (${series.id}, 'Akira, deutsch', 'German')
      returning id, name, language
    `;

    const { status, body } = await publicationsOf(publisher.id, { user_lang: "German" });

    expect(status).toBe(200);
    expect(body).toEqual({
      publications: [
        {
          id: series.id,
          name: "AKIRA",
          slug: "akira",
          type: "manga",
          origin: "Japan",
          alias: "Akira, deutsch",
          aliases: [...aliases],
          description: "",
          tags: [],
        },
      ],
      max: 1,
      from: 0,
      to: 1,
    });
  });

  it("answers 200 without the volume of series that have none, also when the list is streamed", async () => {
    const publisher = await aPublisher(stack.sql);
    const { id } = await aSeries(stack.sql, { from: publisher }, { name: "First" });
    await stack.sql`insert into volumes (series_id, number) values (${id}, 1)`;
    await stack.sql`
      with added as (
        insert into series (name, slug) select 'Series ' || n, 'many-' || n from generate_series(1, 3000) as n returning id
      )
      insert into series_publishers (publisher_id, series_id) select ${publisher.id}, id from added
    `;

    const { body } = await publicationsOf(publisher.id);
    const [first, ...others]: object[] = body.publications;

    expect(first).toHaveProperty("volume.aspect_ratio", 0.7);
    expect(others).toHaveLength(3_000);
    expect(others.filter((each) => "volume" in each)).toEqual([]);
  });

  itListsSeries({
    stack,
    endpoint: "publisher/publications",
    field: "publications",
    relation: "from",
    anOwner: (columns) => aPublisher(stack.sql, columns),
  });
});
