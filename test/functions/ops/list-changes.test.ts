import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { useAdministrator, useHolder } from "../../support/callers.ts";
import { aContributor, aSeries } from "../../support/catalogue.ts";
import { listChanges, newestChange } from "../../support/changes.ts";
import { identifier } from "../../support/database.ts";
import { invoke } from "../../support/invoke.ts";
import { aUser, holderOf } from "../../support/people.ts";
import { aRole, defaultRoleId, give, permissionId } from "../../support/records.ts";
import { type Request, useStack } from "../../support/stack.ts";

const stack = useStack({ signIn: [] });
const administrator = useAdministrator(stack);
const editor = useHolder(stack, "edit-contributors", "view-contributors");

const list = async (payload: object) => (await listChanges(stack, payload)).changes;

/** The newest change, after a request of the administrator. */
async function changeBy(name: string, request: Omit<Request, "as">) {
  expect((await administrator.call(name, request)).status).toBe(200);
  return await newestChange(stack);
}

const edit = async (id: number, body: object) =>
  (await changeBy("admin-contributors/edit", { path: { id }, body })).what;

/** The newest change, after an operator's function has been invoked. */
async function changeByOperator(name: string, payload: object) {
  await invoke(stack, name, payload);
  return await newestChange(stack);
}

describe("ops-list-changes", () => {
  it("shows who changed what, and with raw the rows before and after", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Before" });
    const body = { first_name: "After", public: true };
    const { headers } = await stack.call("admin-contributors/edit", { as: editor.token, path: { id }, body });
    const record = `contributor/${id}`;
    const change = {
      id: expect.any(Number),
      at: expect.any(String),
      by: editor.username,
      userId: editor.id,
      endpoint: "admin-contributors/edit",
      role: "colophon_editor",
      record: `contributor ${id}`,
      name: "After",
      what: ['first_name "Before" → "After"'],
      undoneBy: null,
      undoes: null,
      requestId: headers.get("x-amzn-requestid"),
      reason: null,
    };

    expect(await newestChange(stack, { record })).toEqual(change);
    const row = { record, before: { first_name: "Before" }, after: { first_name: "After" } };
    const rows = [{ ...row, references: expect.anything() }];
    expect(await newestChange(stack, { record, raw: true })).toEqual({ ...change, rows });
  });

  it("shows a transaction of another program as one change, with its role", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Ann" });
    await stack.sql.begin(async (sql) => {
      await sql`update contributors set first_name = 'Anna' where id = ${id}`;
      await sql`insert into contributor_aliases (contributor_id, name) values (${id}, 'A.')`;
    });
    const [{ role } = {}] = await stack.sql`select session_user as role`;

    const program = { endpoint: null, userId: null, by: null, role };
    expect(await list({ record: `contributor/${id}` })).toMatchObject([
      { ...program, name: "Anna", what: ['first_name "Ann" → "Anna"', '+ alias "A."'] },
      { ...program, what: ["added"] },
    ]);
  });

  it("finds changes by user, endpoint, record and time, newest first", async () => {
    const roles = [await aRole(stack.sql), await aRole(stack.sql)];
    for (const { id, name } of roles) await changeBy("admin-roles/edit", { path: { id }, body: { name: `${name}!` } });
    const [first, second] = roles.map(({ id }) => `role ${id}`);
    const [{ id } = { id: 0 }] = roles;
    const recordsOf = async (payload: object) => (await list({ limit: 2, ...payload })).map(({ record }) => record);

    expect(await recordsOf({ endpoint: "admin-roles/edit" })).toEqual([second, first]);
    expect(await recordsOf({ endpoint: "admin-roles" })).toEqual([second, first]);
    expect(await recordsOf({ endpoint: "admin-role" })).toEqual([]);
    expect(await recordsOf({ user: administrator.username.toUpperCase() })).toEqual([second, first]);
    expect(await recordsOf({ user: administrator.id })).toEqual([second, first]);
    // Its insertion by this test is a change as well.
    expect(await recordsOf({ record: `role/${id}`, limit: 9 })).toEqual([first, first]);
    expect(await recordsOf({ record: `permission/${id}`, endpoint: "admin-roles" })).toEqual([]);
    expect(await recordsOf({ from: new Date(Date.now() + 60_000).toISOString() })).toEqual([]);
    expect(await recordsOf({ to: "2020-01-01T00:00:00Z" })).toEqual([]);
  });

  it("finds changes by a user's present name, and those by the former one", async () => {
    const person = await holderOf(stack.sql, "add-roles");
    await stack.call("admin-roles/add", { as: person.token, body: { name: "By a user", description: "d" } });
    await stack.sql`update users set username = 'Renamed since' where id = ${person.id}`;
    await stack.call("sign-out", { as: person.token });

    const endpoints = (await list({ user: "renamed since" })).map(({ endpoint }) => endpoint);

    expect(endpoints).toEqual(["sign-out", "admin-roles/add"]);
  });

  it("finds changes of a deleted user by the id alone", async () => {
    const person = await holderOf(stack.sql, "add-roles");
    await stack.call("admin-roles/add", { as: person.token, body: { name: "By another user", description: "d" } });

    const deletion = await changeBy("admin-users/delete", { path: { id: person.id } });

    const what = [expect.stringMatching(/^role taken: /)];
    expect(deletion).toMatchObject({ record: `user ${person.id}`, name: null, what });
    expect(await list({ user: person.username })).toEqual([]);
    expect((await list({ user: person.id }))[0]).toMatchObject({ by: null, what: ["added"], name: "By another user" });
  });

  it("gives consecutive pages", async () => {
    for (let number = 0; number < 5; number++) await aRole(stack.sql);

    const first = await listChanges(stack, { limit: 3 });
    const second = await listChanges(stack, { limit: 3, before: first.next });

    const ids = [...first.changes, ...second.changes].map(({ id }) => id);
    expect(ids).toHaveLength(6);
    expect(ids).toEqual(ids.toSorted((one, other) => other - one));
    expect((await listChanges(stack, { before: ids.at(-1), limit: 1_000 })).next).toBeNull();
  });

  it("shows the operator, if named, and Lambda's own id of the invocation", async () => {
    const by = "arn:aws:sts::123456789012:assumed-role/Operators/ada";
    await changeByOperator("ops-create-user", { username: "Mary", roles: [], by });
    await changeByOperator("ops-issue-refresh-token", { username: "Mary", days: 1 });

    const changes = await list({ endpoint: "ops", limit: 2 });

    expect(changes).toMatchObject([
      { endpoint: "ops/issue-refresh-token", by: null, name: "Mary" },
      { endpoint: "ops/create-user", by, name: "Mary" },
    ]);
    expect(changes[0]?.requestId).not.toBe(changes[1]?.requestId);
  });

  it("refuses a kind of records that the history does not have", async () => {
    await expect(list({ record: "author/5" })).rejects.toThrow(
      "There are no records of the kind author, but of client, contributor, permission, publisher, role, series, tag, user",
    );
  });

  it("ends its statement when that takes too long", async () => {
    const waiting = () => stack.sql`
      select from pg_locks join pg_stat_activity using (pid)
      where datname = current_database() and not granted and relation = 'history'::regclass
    `;
    await stack.sql.begin(async (tx) => {
      await tx`lock table history in access exclusive mode`;
      await expect(list({})).rejects.toThrow("statement timeout");
      expect(await waiting()).toEqual([]);
    });
  });

  it.each([
    { what: "an endpoint that cannot be", payload: { endpoint: "%" } },
    { what: "an id before its kind", payload: { record: "5/author" } },
    { what: "an unknown field", payload: { since: "2026-11-21T00:00:00Z" } },
    { what: "the year 0", payload: { from: "0000-01-01T00:00:00Z" } },
    { what: "an offset of 23 hours", payload: { to: "2026-11-21T00:00:00+23:00" } },
  ])("fails for $what", async ({ payload }) => {
    const message = /^Invalid payload: (?!.*(pattern|Invalid input|is invalid|another form))/;
    await expect(list(payload)).rejects.toThrow(message);
  });
});

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

    const added = await edit(id, {
      ...fields,
      links: ["https://a.example/", "https://b.example/"],
      added_aliases: ["Tezuka O."],
      added_descriptions: [{ language: "de", description: "Er zeichnete." }],
      added_relations: [{ relation_id: other.id, relation_type: "friend" }],
    });
    expect(added).toEqual([
      '+ alias "Tezuka O."',
      '+ description language "German", description "Er zeichnete."',
      `+ relation relation_id Riyoko Ikeda (${other.id}), relation_type "friend"`,
      '+ link "https://a.example/"',
      '+ link "https://b.example/"',
      "public no → yes",
      `first_name "${first_name}" → "Osamu"`,
    ]);
    const description = await elementId("descriptions");
    const relation = await elementId("relations");
    const edited = await edit(id, {
      ...fields,
      gender: "male",
      links: ["https://b.example/"],
      removed_aliases: [await elementId("aliases")],
      modified_descriptions: [{ id: description, language: "English", source: "S" }],
      modified_relations: [{ id: relation, relation_id: another.id }],
    });
    expect(edited).toEqual([
      '- alias "Tezuka O."',
      `description ${description}: source "" → "S"`,
      `description ${description}: language "German" → "English"`,
      `relation ${relation}: relation_id Riyoko Ikeda (${other.id}) → Moto (${another.id})`,
      '- link "https://b.example/"',
      'link 0: url "https://a.example/" → "https://b.example/"',
      'gender none → "male"',
    ]);
  });

  it("have the beginning and the length of a long text", async () => {
    const long = Array.from({ length: 500 }, (_, number) => `word${number}`).join(" ");
    const shown = (length: string) => `"${long.slice(0, 99)}…" (${length} characters)`;

    const addition = await edit(id, { first_name, added_descriptions: [{ language: "English", description: long }] });
    const description = await elementId("descriptions");
    const modified_descriptions = [{ id: description, description: `${long} and a half` }];
    const modification = await edit(id, { first_name, modified_descriptions });

    expect(addition).toEqual([expect.stringContaining(`description ${shown("3,889")}`)]);
    expect(modification).toEqual([`description ${description}: description ${shown("3,889")} → ${shown("3,900")}`]);
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
  describe("of many", () => {
    let added: readonly { id: number }[];

    beforeAll(async () => {
      added = await stack.sql<{ id: number }[]>`
        insert into publishers (name, slug) select 'P ' || number, 'p-' || number from generate_series(1, 1200) as number
        returning id
      `;
    });

    const changeOf = async () => await newestChange(stack, { record: `publisher/${added.at(-1)?.id}` });

    it("count them", async () => {
      expect(await changeOf()).toMatchObject({ record: "1200 records", name: null, what: ["added 1,200 publishers"] });
    });

    it("show the first rows of a change that is selected by its id", async () => {
      const { what } = await newestChange(stack, { id: (await changeOf()).id });

      expect(what).toHaveLength(501);
      expect(what.slice(-2)).toEqual([`publisher ${added[499]?.id}, P 500: added`, "and 700 rows more"]);
    });
  });

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
