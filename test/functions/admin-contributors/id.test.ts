import { describe, expect, it } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { aContributor } from "../../support/catalogue.ts";
import { holderOf } from "../../support/people.ts";
import { useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const stack = useStack();
const viewer = useHolder(stack, "view-contributors");

const detail = (id: number | string, as = viewer.token, query: Readonly<Record<string, string>> = {}) =>
  stack.call("admin-contributors/id", { as, path: { id }, query });
const holders = async (id: number) =>
  (await stack.sql`select holder_id from contributor_locks where contributor_id = ${id} and expires_at > now()`).map(
    ({ holder_id }) => holder_id,
  );

describe("GET /admin-contributors/id/{id}", () => {
  it("answers 200 with every field, relations to unpublished contributors included", async () => {
    const { sql } = stack;
    const hidden = await aContributor(sql, { first_name: "Hidden", public: false });
    const { id, slug } = await aContributor(sql, { first_name: "Ada", public: false });
    await sql`insert into contributor_links values (${id}, 0, 'https://example.com/ada')`;
    const [relation] = await sql`
      insert into contributor_relations (contributor_id, relation_id, relation_type) values (${id}, ${hidden.id}, 'mentor') returning id
    `;

    const { status, body } = await detail(id);

    expect(status).toBe(200);
    expect(body).toEqual({
      id,
      first_name: "Ada",
      last_name: "",
      slug,
      image: "",
      gender: "",
      links: [{ url: "https://example.com/ada", domain: "example.com" }],
      aliases: [],
      descriptions: [],
      relations: [
        {
          id: relation?.id,
          relation_id: hidden.id,
          relation_type: "mentor",
          name: "Hidden",
          first_name: "Hidden",
          last_name: "",
          slug: hidden.slug,
        },
      ],
    });
  });

  it("answers 200 with what an edit sets and the interface does not show, where it is included", async () => {
    const { sql } = stack;
    const mangaka = await aContributor(sql, {
      first_name: "Osamu",
      type: "author and artist",
      public: false,
      client_id: 2,
    });
    const plain = await aContributor(sql);
    const added = async ({ id }: { id: number }, include: string) => {
      const { relations: _, ...before } = (await detail(id)).body;
      const names = Object.keys(before);
      const { body } = await detail(id, viewer.token, { include });
      return Object.entries(body).slice(names.length + 1);
    };

    expect(await added(mangaka, "type,public,client")).toEqual([
      ["type", "author and artist"],
      ["public", false],
      ["client", 2],
    ]);
    expect(await added(plain, "client,public,type,public")).toEqual([
      ["type", ""],
      ["public", true],
      ["client", null],
    ]);
    expect(await added(mangaka, "public")).toEqual([["public", false]]);
    expect(await added(mangaka, "type")).toEqual([["type", "author and artist"]]);
    expect(await added(mangaka, "")).toEqual([]);
  });

  it("answers 200 and neither takes nor renews a lock when none is asked for", async () => {
    const { id } = await aContributor(stack.sql);
    const { token } = await holderOf(stack.sql, "view-contributors", "edit-contributors");
    const look = () => unchanged(stack, () => detail(id, token, { lock: "none" }));

    expect((await look()).status).toBe(200);
    const { body, headers } = await detail(id, token);
    const looked = await look();

    expect(looked.body).toEqual(body);
    expect(looked.headers.get("ETag")).toBe(headers.get("ETag"));
  });

  it("answers 200 and opens a lock for those who may edit, unless somebody else has one", async () => {
    const { id } = await aContributor(stack.sql);
    const [ann, bob] = [
      await holderOf(stack.sql, "view-contributors", "edit-contributors"),
      await holderOf(stack.sql, "view-contributors", "edit-contributors"),
    ];

    await detail(id);
    expect(await holders(id)).toEqual([]);
    await detail(id, ann.token);
    await detail(id, bob.token);
    expect(await holders(id)).toEqual([ann.id]);
    await stack.sql`update contributor_locks set expires_at = now() - interval '1 second'`;
    await detail(id, bob.token);
    expect(await holders(id)).toEqual([bob.id]);
  });
});
