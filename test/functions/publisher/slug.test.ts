import { describe, expect, it } from "vitest";
import { aPublisher } from "../../support/catalogue.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

const lookUp = (slug: string) => stack.call("publisher/slug", { path: { slug } });

describe("GET /publisher/slug/{slug}", () => {
  it("answers 200 with every field of the interface", async () => {
    const { sql } = stack;
    const imprint = await aPublisher(sql, { name: "Tor", slug: "tor", image: "publishers/tor.webp" });
    const { id } = await aPublisher(sql, {
      name: "Macmillan",
      slug: "macmillan",
      website: "https://www.us.macmillan.com:443/publishers?x=1",
      country: "United Kingdom",
      image: "publishers/macmillan.webp",
    });
    const [alias] = await sql`
      insert into publisher_aliases (publisher_id, title, language) values (${id}, 'Pan Mac', 'English') returning id
    `;
    const [description] = await sql`
      insert into publisher_descriptions (publisher_id, language, description, source)
      values (${id}, 'German', 'Ein Verlag.', 'Wikipedia')
      returning id
    `;
    const [relation] = await sql`
      insert into publisher_relations (publisher_id, relation_id, type) values (${id}, ${imprint.id}, 'imprint') returning id
    `;

    const { status, body } = await lookUp("macmillan");

    expect(status).toBe(200);
    expect(body).toEqual({
      id,
      name: "Macmillan",
      slug: "macmillan",
      image: "https://images.example.com/publishers/macmillan.webp",
      website: "https://www.us.macmillan.com:443/publishers?x=1",
      domain: "us.macmillan.com",
      country: "United Kingdom",
      descriptions: [{ id: description?.id, description: "Ein Verlag.", language: "German", source: "Wikipedia" }],
      aliases: [{ id: alias?.id, title: "Pan Mac", language: "English" }],
      relations: [
        {
          id: relation?.id,
          relation_id: imprint.id,
          type: "imprint",
          name: "Tor",
          image: "https://images.example.com/publishers/tor.webp",
          slug: "tor",
        },
      ],
    });
  });

  it("answers 200 with empty strings and arrays for a publisher with only a name", async () => {
    const { id, slug } = await aPublisher(stack.sql, { name: "Bare" });

    expect((await lookUp(slug)).body).toEqual({
      id,
      name: "Bare",
      slug,
      image: "",
      website: "",
      domain: "",
      country: "",
      descriptions: [],
      aliases: [],
      relations: [],
    });
  });
});
