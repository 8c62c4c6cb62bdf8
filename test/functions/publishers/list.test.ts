import { beforeEach, describe, expect, it } from "vitest";
import { aPublisher, aSeries } from "../../support/catalogue.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

const list = (query: Record<string, string | number> = {}) => stack.call("publishers/list", { query });
const namesIn = ({ body }: { body: { publishers: { name: string }[] } }) => body.publishers.map(({ name }) => name);

beforeEach(() => stack.sql`delete from publishers`);

describe("GET /publishers", () => {
  it("answers 200 with every field of the interface", async () => {
    const publisher = await aPublisher(stack.sql, {
      name: "Kōdansha",
      slug: "kodansha",
      short_name: "KDS",
      country: "Japan",
      website: "https://www.kodansha.co.jp",
      headquarter: "Tokyo",
      founding_date: "1909-11-17",
      image: "publishers/kodansha.webp",
      image_source: "Wikimedia",
    });
    await aSeries(stack.sql, { from: publisher }, { client_id: 2 });
    await aSeries(stack.sql, { from: publisher });

    const { status, body } = await list();

    expect(status).toBe(200);
    expect(body).toEqual({
      publishers: [
        {
          id: publisher.id,
          name: "Kōdansha",
          "short-name": "KDS",
          slug: "kodansha",
          country: "Japan",
          website: "https://www.kodansha.co.jp",
          headquarter: "Tokyo",
          series_count: 2,
          founding_date: "1909-11-17",
          image: "https://images.example.com/publishers/kodansha.webp",
          image_source: "Wikimedia",
        },
      ],
      max: 1,
      from: 0,
      to: 1,
      count: 1,
    });
  });

  it("answers 200 with empty strings where nothing is known", async () => {
    const { id, slug } = await aPublisher(stack.sql, { name: "Unknown" });

    expect((await list()).body.publishers).toEqual([
      {
        id,
        name: "Unknown",
        "short-name": "",
        slug,
        country: "",
        website: "",
        headquarter: "",
        series_count: 0,
        founding_date: "",
        image: "",
        image_source: "",
      },
    ]);
  });

  it("answers 200 in every order, as added where none is asked for, whichever client's", async () => {
    for (const [name, client_id] of [
      ["Tor", null],
      ["Éditions", 1],
      ["dupuis", 2],
    ] as const)
      await aPublisher(stack.sql, { name, client_id });

    expect(namesIn(await list())).toEqual(["Tor", "Éditions", "dupuis"]);
    expect(namesIn(await list({ order: "added-asc" }))).toEqual(["Tor", "Éditions", "dupuis"]);
    expect(namesIn(await list({ order: "added-desc" }))).toEqual(["dupuis", "Éditions", "Tor"]);
    expect(namesIn(await list({ order: "name-asc" }))).toEqual(["dupuis", "Éditions", "Tor"]);
    expect(namesIn(await list({ order: "name-desc" }))).toEqual(["Tor", "Éditions", "dupuis"]);
  });

  it("answers 200 with a page and its numbers", async () => {
    for (const name of ["A", "B", "C", "D"]) await aPublisher(stack.sql, { name });

    const { body } = await list({ limit: 2, offset: 1, order: "name-asc", lang: "German" });

    expect(body).toMatchObject({ publishers: [{ name: "B" }, { name: "C" }], max: 4, from: 1, to: 3, count: 2 });
  });

  it("answers 200 with those whose name contains the search", async () => {
    for (const name of ["Shōgakukan", "Shūeisha", "Tor_Books"]) await aPublisher(stack.sql, { name });

    expect(namesIn(await list({ search: "SHO" }))).toEqual(["Shōgakukan"]);
    expect(namesIn(await list({ search: "_" }))).toEqual(["Tor_Books"]);
    expect((await list({ search: "sh" })).body).toMatchObject({ max: 2, count: 2 });
  });

  it("answers 200 with those in whose name or aliases each word of the search occurs, in any order", async () => {
    const kodansha = await aPublisher(stack.sql, { name: "Kōdansha" });
    await aPublisher(stack.sql, { name: "Kodansha Comics" });
    await stack.sql`
      insert into publisher_aliases (publisher_id, title, language)
      values (${kodansha.id}, '講談社', 'Japanese'), (${kodansha.id}, 'The Story House', 'English')
    `;

    for (const search of ["講談社", "house kodan", "o the story", "談"])
      expect(namesIn(await list({ search })), search).toEqual(["Kōdansha"]);
    expect((await list({ search: "sha da" })).body).toMatchObject({ max: 2, count: 2 });
    expect(namesIn(await list({ search: "comics house" }))).toEqual([]);
    await stack.sql`update publisher_aliases set title = 'House of Stories' where language = 'English'`;
    expect(namesIn(await list({ search: "the" }))).toEqual([]);
  });
});
