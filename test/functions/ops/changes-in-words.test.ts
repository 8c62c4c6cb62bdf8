import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor, aSeries } from "../../support/catalogue.ts";
import { newestChange } from "../../support/changes.ts";
import { identifier } from "../../support/database.ts";
import { aUser } from "../../support/people.ts";
import { aRole, defaultRoleId, give, permissionId } from "../../support/records.ts";
import { type Request, useStack } from "../../support/stack.ts";

const stack = useStack();
const administrator = useAdministrator(stack);

/** The newest change, after a request of the administrator that is refused with 200. */
async function changeBy(name: string, request: Omit<Request, "as">) {
  expect((await stack.call(name, { as: administrator.token, ...request })).status).toBe(200);
  return await newestChange(stack);
}

const edit = async (id: number, body: object) =>
  (await changeBy("admin-contributors/edit", { path: { id }, body })).what;

/** The newest change, after an operator's function has been invoked. */
async function changeByOperator(name: string, payload: object) {
  expect(await stack.lambda.invoke(name, payload)).toHaveProperty("result");
  return await newestChange(stack);
}

describe("The words of a change of one record", () => {
  let id: number;
  let first_name: string;
  const elementId = async (table: string): Promise<number> => {
    const rows = await stack.sql`select id from ${identifier(`contributor_${table}`)} where contributor_id = ${id}`;
    return rows.at(-1)?.id;
  };

  beforeEach(async () => {
    first_name = randomUUID();
    ({ id } = await aContributor(stack.sql, { first_name, public: false }));
  });

  it("have a line for each column, and for each element that was added, edited or deleted", async () => {
    const other = await aContributor(stack.sql, { first_name: "Riyoko", last_name: "Ikeda" });
    const another = await aContributor(stack.sql, { first_name: "Moto" });
    const fields = { first_name: "Osamu", public: true };

    expect(
      await edit(id, {
        ...fields,
        links: ["https://a.example", "https://b.example"],
        added_aliases: ["Tezuka O."],
        added_descriptions: [{ language: "de", description: "Er zeichnete." }],
        added_relations: [{ relation_id: other.id, relation_type: "friend" }],
      }),
    ).toEqual([
      '+ alias "Tezuka O."',
      '+ description language "German", description "Er zeichnete."',
      `+ relation relation_id Riyoko Ikeda (${other.id}), relation_type "friend"`,
      '+ link "https://a.example"',
      '+ link "https://b.example"',
      "public no → yes",
      `first_name "${first_name}" → "Osamu"`,
    ]);
    const description = await elementId("descriptions");
    const relation = await elementId("relations");
    expect(
      await edit(id, {
        ...fields,
        gender: "male",
        links: ["https://b.example"],
        removed_aliases: [await elementId("aliases")],
        modified_descriptions: [{ id: description, language: "English", source: "S" }],
        modified_relations: [{ id: relation, relation_id: another.id }],
      }),
    ).toEqual([
      '- alias "Tezuka O."',
      `description ${description}: source "" → "S"`,
      `description ${description}: language "German" → "English"`,
      `relation ${relation}: relation_id Riyoko Ikeda (${other.id}) → Moto (${another.id})`,
      '- link "https://b.example"',
      'link 0: url "https://a.example" → "https://b.example"',
      'gender none → "male"',
    ]);
  });

  it("shorten long texts in the middle, and show where they differ", async () => {
    const long = Array.from({ length: 500 }, (_, number) => `word${number}`).join(" ");
    expect(await edit(id, { first_name, added_descriptions: [{ language: "English", description: long }] })).toEqual([
      expect.stringMatching(/description "word0 word1 .{40,60} … .{40,60} word499" \(3,889 characters\)$/),
    ]);
    const description = await elementId("descriptions");
    const latter = long.replace("word250", "WORD250 and a half");
    expect(await edit(id, { first_name, modified_descriptions: [{ id: description, description: latter }] })).toEqual([
      `description ${description}: description ` +
        '"…247 word248 word249 word250 word251 word252 wor…" → ' +
        '"…247 word248 word249 WORD250 and a half word251 word252 wor…" (3,889 → 3,900 characters)',
    ]);
  });

  it("are few, unless the change is selected by its id", async () => {
    await edit(id, { first_name, added_aliases: Array.from({ length: 60 }, (_, number) => `Alias ${number}`) });

    const short = await newestChange(stack);
    expect(short.what).toHaveLength(51);
    expect(short.what.at(-1)).toBe("and 10 lines more");
    expect((await newestChange(stack, { id: short.id })).what).toHaveLength(60);
  });
});

describe("The words of a change of several records", () => {
  it("name the roles and permissions of a user and a role, and who lost a deleted role", async () => {
    const user = await aUser(stack.sql, "Ada");
    const [first, second] = [await aRole(stack.sql, "view-users"), await aRole(stack.sql)];
    await give(stack.sql, user, first);
    const body = { username: "Ada L.", age_verified: true, added_roles: [second.id], removed_roles: [first.id] };

    expect(await changeBy("admin-users/edit", { path: { id: user.id }, body })).toMatchObject({
      record: `user ${user.id}`,
      name: "Ada L.",
      what: [
        `role given: ${second.name} (${second.id})`,
        `role taken: ${first.name} (${first.id})`,
        'username "Ada" → "Ada L."',
        "age_verified no → yes",
      ],
    });
    const permission = await permissionId(stack.sql, "view-users");
    const edited = { name: "Clerk", removed_permissions: [permission] };
    expect((await changeBy("admin-roles/edit", { path: { id: first.id }, body: edited })).what).toEqual([
      `permission taken: view-users (${permission})`,
      `name "${first.name}" → "Clerk"`,
    ]);
    expect(await changeBy("admin-roles/delete", { path: { id: second.id } })).toMatchObject({
      record: "2 records",
      what: [
        `role ${second.id}, ${second.name}: deleted`,
        `user ${user.id}, Ada L.: role taken: ${second.name} (${second.id})`,
        `user ${user.id}, Ada L.: role given: Reader (${await defaultRoleId(stack.sql)})`,
      ],
    });
  });

  it("begin with the record: a merge, and its undo", async () => {
    const kept = await aContributor(stack.sql, { first_name: "Fujiko", slug: "fujiko" });
    const one = await aContributor(stack.sql, { first_name: "F. Fujio", slug: "f-fujio" });
    const series = await aSeries(stack.sql, { by: one }, { name: "Doraemon" });
    const merge = await changeByOperator("ops-merge-contributors", { keep: kept.id, merge: [one.id] });
    expect(merge.what).toHaveLength(6);
    expect(merge.what).toEqual(
      expect.arrayContaining([
        `contributor ${one.id}, F. Fujio: + alias "F. Fujio"`,
        expect.stringMatching(`^contributor ${kept.id}, Fujiko: alias \\d+: contributor_id ${one.id} → ${kept.id}$`),
        `contributor ${kept.id}, Fujiko: + former slug "f-fujio"`,
        `contributor ${one.id}, F. Fujio: deleted`,
        `series ${series.id}, Doraemon: contributor taken: F. Fujio (${one.id})`,
        `series ${series.id}, Doraemon: contributor given: Fujiko (${kept.id})`,
      ]),
    );
    const undo = await changeByOperator("ops-undo", { change: merge.id });
    expect(undo).toMatchObject({ undoes: [merge.id], record: "3 records" });
    expect(undo.what).toContain(`contributor ${one.id}, F. Fujio: added`);
    expect(await newestChange(stack, { id: merge.id })).toMatchObject({ undoneBy: undo.id });
  });
});
