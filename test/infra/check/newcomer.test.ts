import { beforeAll, describe, expect, inject, it } from "vitest";
import { withConnection } from "../../../infra/aws-local/postgres/connection.ts";
import { unmerged } from "../../../infra/check/unmerged.ts";
import { unrecorded } from "../../../infra/check/unrecorded.ts";
import { aContributor } from "../../support/catalogue.ts";
import { operate } from "../../support/operate.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

const problems = async (find: typeof unmerged) => {
  const [own] = await stack.sql`select current_database() as name`;
  return await withConnection(`${inject("ownerUrl")}/${own?.name}`, find);
};

/** Changes the text of a function of the database. */
async function edit(name: string, from: string, to: string): Promise<void> {
  const [found] = await stack.sql`select pg_get_functiondef(oid) as text from pg_proc where proname = ${name}`;
  const text: string = found?.text ?? "";
  expect(text).toContain(from);
  await stack.sql.query(text.replace(from, to));
}

describe("A new table of elements of contributors", () => {
  beforeAll(
    () => stack.sql`
      create table contributor_awards (
        id bigint generated always as identity primary key,
        contributor_id bigint not null references contributors on delete cascade,
        name text not null
      )
    `,
  );

  it("is refused by npm run check until changes of it are recorded", async () => {
    expect(await problems(unrecorded)).toEqual([
      expect.stringContaining("The table contributor_awards references contributors, but is not in history_tables()"),
    ]);
    const row = "('volumes', 'series', 'volume', null, '{series-, series}', '{}', null)";
    const award = "('contributor_awards', 'contributor', 'award', null, '{contributor-}', '{}', null)";
    await edit("history_tables", row, `${row},\n${award}`);
    expect(await problems(unrecorded)).toEqual([]);
  });

  it("is refused until a merge updates it, and then the kept contributor has its rows", async () => {
    expect(await problems(unmerged)).toEqual([
      expect.stringContaining(
        "The table contributor_awards references contributors, but lib/changes/merge-contributors",
      ),
    ]);
    const statement = "update former_slugs set contributor_id = kept_id where contributor_id = any(merged_ids);";
    await edit(
      "merge_contributors",
      statement,
      `${statement}\n${statement.replace("former_slugs", "contributor_awards")}`,
    );
    expect(await problems(unmerged)).toEqual([]);
    const [kept, one] = [await aContributor(stack.sql), await aContributor(stack.sql)];
    await stack.sql`insert into contributor_awards (contributor_id, name) values (${one.id}, 'A prize')`;
    await stack.sql.query("grant select, update on contributor_awards to public");

    await operate(stack, "ops-merge-contributors", { keep: kept.id, merge: [one.id] });

    expect(await stack.sql`select contributor_id, name from contributor_awards`).toEqual([
      { contributor_id: kept.id, name: "A prize" },
    ]);
  });
});
