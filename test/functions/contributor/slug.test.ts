import { describe, expect, it } from "vitest";
import { aContributor } from "../../support/catalogue.ts";
import { envelope } from "../../support/envelope.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

const lookUp = (slug: string, headers: Record<string, string> = {}) =>
  stack.call("contributor/slug", { path: { slug }, headers });

describe("GET /contributor/slug/{slug}", () => {
  it("answers 200 with every field of the interface", async () => {
    const { sql } = stack;
    const christopher = await aContributor(sql, {
      first_name: "Christopher",
      last_name: "Tolkien",
      slug: "christopher-tolkien",
    });
    const { id } = await aContributor(sql, {
      first_name: "John Ronald Reuel",
      last_name: "Tolkien",
      slug: "j-r-r-tolkien",
      gender: "male",
      image: "avatars/tolkien.webp",
    });
    await sql`insert into contributor_links values (${id}, 1, 'https://en.wikipedia.org/wiki/Tolkien'), (${id}, 0, 'http://www.tolkienestate.com:8080')`;
    const [alias] =
      await sql`insert into contributor_aliases (contributor_id, name) values (${id}, 'Oxymore') returning id`;
    const [description] = await sql`
      insert into contributor_descriptions (contributor_id, language, description)
      values (${id}, 'English', 'A philologist.')
      returning id
    `;
    const [relation] = await sql`
      insert into contributor_relations (contributor_id, relation_id, relation_type)
      values (${id}, ${christopher.id}, 'parent')
      returning id
    `;

    const { status, body } = await lookUp("j-r-r-tolkien");

    expect(status).toBe(200);
    expect(body).toEqual({
      id,
      first_name: "John Ronald Reuel",
      last_name: "Tolkien",
      slug: "j-r-r-tolkien",
      image: "https://images.example.com/avatars/tolkien.webp",
      gender: "male",
      links: [
        { url: "http://www.tolkienestate.com:8080", domain: "tolkienestate.com" },
        { url: "https://en.wikipedia.org/wiki/Tolkien", domain: "en.wikipedia.org" },
      ],
      descriptions: [{ id: description?.id, description: "A philologist.", language: "English", source: "" }],
      aliases: [{ id: alias?.id, name: "Oxymore" }],
      relations: [
        {
          id: relation?.id,
          relation_id: christopher.id,
          relation_type: "parent",
          name: "Christopher Tolkien",
          first_name: "Christopher",
          last_name: "Tolkien",
          slug: "christopher-tolkien",
        },
      ],
    });
  });

  it("answers 200 with nulls and empty arrays for a contributor with only a name", async () => {
    const { id, slug } = await aContributor(stack.sql, { first_name: "Hergé" });

    const { body } = await lookUp(slug);

    expect(body).toEqual({
      id,
      first_name: "Hergé",
      last_name: "",
      slug,
      image: null,
      gender: null,
      links: [],
      descriptions: [],
      aliases: [],
      relations: [],
    });
  });

  it("answers 200 without relations to unpublished contributors", async () => {
    const hidden = await aContributor(stack.sql, { public: false });
    const { id, slug } = await aContributor(stack.sql);
    await stack.sql`insert into contributor_relations (contributor_id, relation_id, relation_type) values (${id}, ${hidden.id}, 'sibling')`;

    expect((await lookUp(slug)).body.relations).toEqual([]);
  });

  it("answers 200 with a record that exceeds the 64 KB of a row", async () => {
    const { id, slug } = await aContributor(stack.sql);
    const description = "😀é手 ".repeat(5_000);
    await stack.sql`
      insert into contributor_descriptions (contributor_id, language, description)
      select ${id}, 'English', ${description} from generate_series(1, 5)
    `;

    const { body } = await lookUp(slug);

    expect(body.descriptions.map((each: { description: string }) => each.description)).toEqual(
      Array(5).fill(description),
    );
  });

  it("answers 304 to a client that has the answer, with W/ or without, and 200 after it has changed", async () => {
    const { id, slug } = await aContributor(stack.sql);
    const { headers } = await lookUp(slug);
    const tag = headers.get("etag") ?? "";

    const strong = await lookUp(slug, { "If-None-Match": tag.replace("W/", "") });
    const unchanged = await lookUp(slug, { "If-None-Match": `"other", ${tag}` });
    await stack.sql`update contributors set gender = 'female' where id = ${id}`;
    const changed = await lookUp(slug, { "If-None-Match": tag });

    expect([strong.status, unchanged.status, unchanged.body]).toEqual([304, 304, undefined]);
    for (const each of [headers, unchanged.headers]) expect(each.get("vary")).toBe("Accept-Encoding");
    expect(changed.status).toBe(200);
  });

  it("answers 404 to the slug of an unpublished contributor", async () => {
    const { slug } = await aContributor(stack.sql, { public: false });

    const { status, body } = await lookUp(slug);

    expect([status, body]).toEqual([404, envelope(404, "Contributor not found")]);
  });
});
