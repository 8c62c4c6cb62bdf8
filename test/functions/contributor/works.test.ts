import { describe, expect, it } from "vitest";
import { aContributor, aSeries } from "../../support/catalogue.ts";
import { itListsSeries, translated } from "../../support/series-lists.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

const worksOf = (id: number | string, query: Record<string, string | number> = {}) =>
  stack.call("contributor/works", { path: { id }, query: { client: 1, ...query } });

describe("GET /contributor/works/{id}", () => {
  it("answers 200 with every field of the interface", async () => {
    const { sql } = stack;
    const author = await aContributor(sql);
    const series = await aSeries(sql, { by: author }, { name: "Momo", slug: "momo", type: "novel", origin: "Germany" });
    await translated(stack.sql, series, { English: "The Grey Gentlemen" }, { English: "A girl listens." });
    const [tag] = await sql`insert into tags (name) values ('fantasy') returning id`;
    await sql`insert into series_tags values (${series.id}, ${tag?.id})`;
    await sql`insert into volumes (series_id, number, cover) values (${series.id}, 3, 'covers/momo-3.webp'), (${series.id}, 1, null)`;
    const [volume] = await sql`
      insert into volumes (series_id, number, cover, aspect_ratio, nsfw)
      values (${series.id}, 2, 'covers/momo-2.webp', 0.65, 1)
      returning id
    `;

    const { status, body } = await worksOf(author.id);

    expect(status).toBe(200);
    expect(body).toEqual({
      works: [
        {
          id: series.id,
          name: "Momo",
          slug: "momo",
          type: "novel",
          origin: "Germany",
          alias: "The Grey Gentlemen",
          description: "A girl listens.",
          tags: [{ id: tag?.id, name: "fantasy" }],
          volume: {
            id: volume?.id,
            cover_path: "https://images.example.com/covers/momo-2.webp",
            aspect_ratio: 0.65,
            nsfw: 1,
            nsfw18: 0,
          },
        },
      ],
      max: 1,
      from: 0,
      to: 1,
    });
  });

  it("answers 200 with the first volume where none has a cover, and without the field where there is none", async () => {
    const author = await aContributor(stack.sql);
    const covered = await aSeries(stack.sql, { by: author }, { name: "A" });
    await aSeries(stack.sql, { by: author }, { name: "B" });
    await stack.sql`insert into volumes (series_id, number) values (${covered.id}, 2), (${covered.id}, 1)`;

    const { body } = await worksOf(author.id);

    expect(body.works[0].volume).toMatchObject({ cover_path: "", aspect_ratio: 0.7, nsfw: 0, nsfw18: 0 });
    expect(body.works[1]).not.toHaveProperty("volume");
  });

  it("answers 200 with an empty list for an unpublished contributor", async () => {
    const hidden = await aContributor(stack.sql, { public: false });
    await aSeries(stack.sql, { by: hidden });

    expect((await worksOf(hidden.id)).body).toEqual({ works: [], max: 0, from: 0, to: 0 });
  });

  it("answers 200 with texts that exceed the 64 KB of a row", async () => {
    const author = await aContributor(stack.sql);
    const description = "手".repeat(20_000);
    for (let n = 0; n < 20; n++)
      await translated(stack.sql, await aSeries(stack.sql, { by: author }), {}, { English: description });

    const { body } = await worksOf(author.id);

    expect(body.works.map((work: { description: string }) => work.description)).toEqual(Array(20).fill(description));
    for (const work of body.works) expect(work).not.toHaveProperty("volume");
  });

  itListsSeries({
    stack,
    endpoint: "contributor/works",
    field: "works",
    relation: "by",
    anOwner: (columns) => aContributor(stack.sql, columns),
  });
});
