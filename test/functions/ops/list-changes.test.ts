import { describe, expect, it } from "vitest";
import { useAdministrator, useHolder } from "../../support/callers.ts";
import { aContributor } from "../../support/catalogue.ts";
import { listChanges, newestChange } from "../../support/changes.ts";
import { holderOf } from "../../support/people.ts";
import { aRole } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ signIn: [] });
const administrator = useAdministrator(stack);
const editor = useHolder(stack, "edit-contributors", "view-contributors");

const list = async (payload: object) => (await listChanges(stack, payload)).changes;

describe("ops-list-changes", () => {
  it("shows who changed what, and with raw the rows before and after", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Before" });
    const { headers } = await stack.call("admin-contributors/edit", {
      as: editor.token,
      path: { id },
      body: { first_name: "After", public: true },
    });
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
    const rows = [
      expect.objectContaining({ record, before: { first_name: "Before" }, after: { first_name: "After" } }),
    ];
    expect(await newestChange(stack, { record, raw: true })).toEqual({ ...change, rows });
  });

  it("shows a transaction of another program as one change, with its role", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Ann" });
    await stack.sql.begin(async (sql) => {
      await sql`update contributors set first_name = 'Anna' where id = ${id}`;
      await sql`insert into contributor_aliases (contributor_id, name) values (${id}, 'A.')`;
    });
    const [{ role } = {}] = await stack.sql`select session_user as role`;

    const [change, addition, ...others] = await list({ record: `contributor/${id}` });

    const program = { endpoint: null, userId: null, by: null, role };
    expect(change).toMatchObject({ ...program, name: "Anna", what: ['first_name "Ann" → "Anna"', '+ alias "A."'] });
    expect(addition).toMatchObject({ ...program, what: ["added"] });
    expect(others).toEqual([]);
  });

  it("finds changes by user, endpoint, record and time, newest first", async () => {
    const roles = [await aRole(stack.sql), await aRole(stack.sql)];
    for (const { id, name } of roles) {
      await stack.call("admin-roles/edit", { as: administrator.token, path: { id }, body: { name: `${name}!` } });
    }
    const [first, second] = roles.map(({ id }) => `role ${id}`);
    const [{ id } = { id: 0 }] = roles;
    const recordsOf = async (payload: object) => (await list(payload)).map(({ record }) => record);

    expect((await recordsOf({ endpoint: "admin-roles/edit" })).slice(0, 2)).toEqual([second, first]);
    expect((await recordsOf({ endpoint: "admin-roles" })).slice(0, 2)).toEqual([second, first]);
    expect(await recordsOf({ endpoint: "admin-role" })).toEqual([]);
    expect((await recordsOf({ user: administrator.username.toUpperCase(), limit: 1 }))[0]).toBe(second);
    expect((await recordsOf({ user: administrator.id, limit: 1 }))[0]).toBe(second);
    // Its insertion by this test is a change as well.
    expect(await recordsOf({ record: `role/${id}` })).toEqual([first, first]);
    expect(await recordsOf({ record: `permission/${id}`, endpoint: "admin-roles" })).toEqual([]);
    expect(await recordsOf({ from: new Date(Date.now() + 60_000).toISOString() })).toEqual([]);
    expect(await recordsOf({ to: "2020-01-01T00:00:00Z" })).toEqual([]);
  });

  it("finds changes by a user's present and former name, and those of deleted users by their id alone", async () => {
    const person = await holderOf(stack.sql, "add-roles");
    await stack.call("admin-roles/add", { as: person.token, body: { name: "By a user", description: "d" } });

    await stack.sql`update users set username = 'Renamed since' where id = ${person.id}`;
    await stack.call("sign-out", { as: person.token });
    const endpoints = (await list({ user: "renamed since" })).map(({ endpoint }) => endpoint);
    expect(endpoints).toEqual(["sign-out", "admin-roles/add"]);
    await stack.call("admin-users/delete", { as: administrator.token, path: { id: person.id } });
    expect(await list({ user: person.username })).toEqual([]);
    expect((await list({ user: person.id }))[1]).toMatchObject({ by: null, what: ["added"], name: "By a user" });
    expect(await newestChange(stack, { record: `user/${person.id}` })).toMatchObject({
      endpoint: "admin-users/delete",
      record: `user ${person.id}`,
      name: null,
      what: [expect.stringMatching(/^role taken: /)],
    });
  });

  it("counts the records of a change of many, and shows all rows if it is selected by its id", async () => {
    const added = await stack.sql<{ id: number }[]>`
      insert into publishers (name, slug) select 'P ' || number, 'p-' || number from generate_series(1, 1200) as number
      returning id
    `;
    const { id, ...change } = await newestChange(stack, { record: `publisher/${added.at(-1)?.id}` });

    expect(change).toMatchObject({ record: "1200 records", name: null, what: ["added 1,200 publishers"] });
    const { what } = await newestChange(stack, { id });
    expect(what).toHaveLength(1_200);
    expect(what.at(-1)).toBe(`publisher ${added.at(-1)?.id}, P 1200: added`);
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
    await stack.lambda.invoke("ops-create-user", { username: "Mary", roles: [], by });
    await stack.lambda.invoke("ops-issue-refresh-token", { username: "Mary", days: 1, by });
    await stack.lambda.invoke("ops-issue-refresh-token", { username: "Mary", days: 1 });

    const changes = await list({ endpoint: "ops", limit: 3 });

    expect(changes.map((change) => [change.endpoint, change.by, change.name])).toEqual([
      ["ops/issue-refresh-token", null, "Mary"],
      ["ops/issue-refresh-token", by, "Mary"],
      ["ops/create-user", by, "Mary"],
    ]);
    expect(new Set(changes.map(({ requestId }) => requestId)).size).toBe(3);
  });

  it("shows a change that exceeds a result of the Data API", async () => {
    const { id } = await aContributor(stack.sql);
    await stack.sql`
      insert into contributor_descriptions (contributor_id, language, description)
      select ${id}, 'English', repeat('漢', 20000) from generate_series(1, 40)
    `;
    await stack.call("admin-contributors/delete", { as: administrator.token, path: { id } });

    const { what, rows } = await newestChange(stack, { record: `contributor/${id}`, raw: true });

    expect(what).toHaveLength(41);
    expect(rows?.filter(({ before }) => String(before?.description).length === 20_000)).toHaveLength(40);
  });

  it.each([
    { endpoint: "%" },
    { record: "author/5" },
    { from: "0000-01-01T00:00:00Z" },
    { to: "2026-11-21T00:00:00+23:00" },
    { since: "2026-11-21T00:00:00Z" },
  ])("fails for %o", async (payload) => {
    expect(await stack.lambda.invoke("ops-list-changes", payload)).toMatchObject({
      error: {
        errorMessage: expect.stringMatching(/^Invalid payload: (?!.*(pattern|Invalid input|is invalid|another form))/),
      },
    });
  });
});
