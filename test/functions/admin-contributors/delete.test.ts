import { describe, expect, it } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { aContributor, aSeries } from "../../support/catalogue.ts";
import { identifier } from "../../support/database.ts";
import { envelope } from "../../support/envelope.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const deleter = useHolder(stack, "delete-contributors");

const remove = (id: number | string) => stack.call("admin-contributors/delete", { as: deleter.token, path: { id } });

describe("DELETE /admin-contributors/delete/{id}", () => {
  it("answers 200, removes all that belongs to the contributor and lists its avatar for removal", async () => {
    const { sql } = stack;
    const friend = await aContributor(sql);
    const { id } = await aContributor(sql, { image: "avatars/gone.webp" });
    await aSeries(sql, { by: { id, slug: "" } });
    await sql`insert into contributor_links values (${id}, 0, 'https://example.com')`;
    await sql`insert into contributor_aliases (contributor_id, name) values (${id}, 'x')`;
    await sql`insert into contributor_descriptions (contributor_id, language, description) values (${id}, 'English', 'x')`;
    await sql`insert into contributor_relations (contributor_id, relation_id, relation_type) values (${id}, ${friend.id}, 'x'), (${friend.id}, ${id}, 'x')`;
    await sql`insert into contributor_locks values (${id}, ${deleter.id}, now() + interval '1 minute')`;

    const { status, body } = await remove(id);

    expect([status, body]).toEqual([200, envelope(200, "Contributor deleted")]);
    for (const table of ["links", "aliases", "descriptions", "relations", "locks"]) {
      expect([table, ...(await sql`select * from ${identifier(`contributor_${table}`)}`)]).toEqual([table]);
    }
    expect(await sql`select from series_contributors`).toHaveLength(0);
    expect((await sql`select key from images_to_remove where remove_after <= now()`).map(({ key }) => key)).toEqual([
      "avatars/gone.webp",
    ]);
    expect((await remove(id)).status).toBe(404);
    expect((await sql`select id from contributors`).map((row) => row.id)).toEqual([friend.id]);
  });
});
