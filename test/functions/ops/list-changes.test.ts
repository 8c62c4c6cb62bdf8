import { describe, expect, it } from "vitest";
import { useAdministrator, useHolder } from "../../support/callers.ts";
import { aContributor } from "../../support/catalogue.ts";
import { holderOf } from "../../support/people.ts";
import { dataUrl, plain } from "../../support/pictures.ts";
import { aRole } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ uploads: true });
const administrator = useAdministrator(stack);
const editor = useHolder(stack, "edit-contributors", "view-contributors");

interface Row {
  readonly id: number;
  readonly at: string;
  readonly endpoint: string;
  readonly by: string | null;
  readonly userId: number | null;
  readonly record: string | null;
  readonly what: readonly string[];
  readonly before: unknown;
}

async function list(payload: object): Promise<{ changes: Row[]; next: number | null }> {
  const invocation = await stack.lambda.invoke("ops-list-changes", payload);
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  return invocation.result as { changes: Row[]; next: number | null };
}

describe("ops-list-changes", () => {
  it("shows who changed what, and with raw the row as the ledger has it", async () => {
    const contributor = await aContributor(stack.sql, { first_name: "Before", last_name: "Then" });
    const [alias] = await stack.sql`
      insert into contributor_aliases (contributor_id, name) values (${contributor.id}, 'Old alias') returning id
    `;
    const { headers } = await stack.call("admin-contributors/edit", {
      as: editor.token,
      path: { id: contributor.id },
      body: { first_name: "After", public: true, added_aliases: ["New alias"], removed_aliases: [alias?.id] },
    });

    const { changes } = await list({ record: contributor.id });
    const [inWords] = changes;

    expect(changes).toEqual([
      {
        id: expect.any(Number),
        at: expect.any(String),
        by: editor.username,
        userId: editor.id,
        endpoint: "admin-contributors/edit",
        record: `contributor ${contributor.id}`,
        name: "After",
        what: [
          'first_name: "Before" → "After"',
          'last_name: "Then" → none',
          'alias added: "New alias"',
          'alias removed: "Old alias"',
        ],
        undoneBy: null,
        undoes: null,
        requestId: headers.get("x-amzn-requestid"),
        reason: null,
      },
    ]);
    expect(Date.now() - Date.parse(inWords?.at ?? "")).toBeLessThan(60_000);
    expect(await list({ id: inWords?.id, raw: true })).toEqual({
      changes: [
        {
          ...inWords,
          asked: expect.objectContaining({ first_name: "After", added_aliases: ["New alias"] }),
          before: {
            first_name: "Before",
            last_name: "Then",
            added_aliases: [expect.any(Number)],
            removed_aliases: [{ id: alias?.id, name: "Old alias" }],
          },
        },
      ],
      next: null,
    });
  });

  it("finds changes by user, endpoint, record and time, newest first", async () => {
    const roles = [await aRole(stack.sql), await aRole(stack.sql)];
    for (const { id, name } of roles) {
      await stack.call("admin-roles/edit", { as: administrator.token, path: { id }, body: { name: `${name}!` } });
    }
    const [first, second] = roles.map(({ id }) => `role ${id}`);
    const [{ id } = { id: 0 }] = roles;
    const recordsOf = async (payload: object) => (await list(payload)).changes.map(({ record }) => record);

    expect((await recordsOf({ endpoint: "admin-roles/edit" })).slice(0, 2)).toEqual([second, first]);
    expect((await recordsOf({ endpoint: "admin-roles" })).slice(0, 2)).toEqual([second, first]);
    expect(await recordsOf({ endpoint: "admin-role" })).toEqual([]);
    expect((await recordsOf({ user: administrator.username.toUpperCase(), limit: 1 }))[0]).toBe(second);
    expect((await recordsOf({ user: administrator.id, limit: 1 }))[0]).toBe(second);
    expect(await recordsOf({ user: "nobody" })).toEqual([]);
    expect(await recordsOf({ endpoint: "admin-roles", record: id })).toEqual([first]);
    expect(await recordsOf({ record: `role/${id}` })).toEqual([first]);
    expect(await recordsOf({ record: `permission/${id}` })).toEqual([]);
    expect(await recordsOf({ from: new Date(Date.now() + 60_000).toISOString() })).toEqual([]);
    expect(await recordsOf({ to: "2020-01-01T00:00:00Z" })).toEqual([]);
  });

  it("finds changes by a user's present and former name, and those of deleted users by their id alone", async () => {
    const person = await holderOf(stack.sql, "add-roles");
    await stack.call("admin-roles/add", { as: person.token, body: { name: "By somebody", description: "d" } });

    await stack.sql`update users set username = 'Renamed since' where id = ${person.id}`;
    expect((await list({ user: "renamed since" })).changes).toHaveLength(1);
    await stack.call("admin-users/delete", { as: administrator.token, path: { id: person.id } });
    expect((await list({ user: person.username })).changes).toEqual([]);
    expect((await list({ user: person.id })).changes).toEqual([
      expect.objectContaining({ userId: person.id, by: null, what: ["added: By somebody"] }),
    ]);
    expect((await list({ record: `user/${person.id}`, raw: true })).changes).toEqual([
      expect.objectContaining({ record: `user ${person.id}`, asked: {}, before: null }),
    ]);
  });

  it("finds operators' changes by each of their records, and tells what they did to each", async () => {
    const kept = await aContributor(stack.sql, { first_name: "Kept" });
    const lost = { id: 900_001 };
    const effects = [
      { record: "contributor", id: kept.id, name: "Kept", did: "edit", before: { type: "a" }, after: { type: "b" } },
      { record: "contributor", id: lost.id, name: "Lost", did: "delete", before: { aliases: [{ id: 1, name: "L" }] } },
    ];
    const [{ id } = { id: 0 }] = await stack.sql<{ id: number }[]>`
      insert into changes (key, request_id, endpoint, records, undoes, asked, before)
      values (
        'k', 'r', 'ops/made-up', ${[`contributor/${kept.id}`, `contributor/${lost.id}`]}, '{7}',
        '{"by": "ada", "reason": "Twice there"}', ${JSON.stringify(effects)}::json
      )
      returning id
    `;
    const told = expect.objectContaining({
      id,
      by: "ada",
      userId: null,
      record: "2 records",
      name: null,
      what: [`contributor ${kept.id} (Kept): type: "a" → "b"`, "contributor 900001 (Lost): deleted, with 1 alias"],
      undoes: [7],
      reason: "Twice there",
    });

    for (const { id: record } of [kept, lost]) {
      expect((await list({ record })).changes).toEqual([told]);
      expect((await list({ record: `contributor/${record}` })).changes).toEqual([told]);
      expect((await list({ record: `publisher/${record}` })).changes).toEqual([]);
    }
    expect((await list({ endpoint: "ops/made-up" })).changes).toEqual([told]);
  });

  it("counts the records of a change of many, and tells all when it is asked for by its id", async () => {
    const effects = Array.from({ length: 1_200 }, (_, at) => ({
      record: at < 1_000 ? "contributor" : "series",
      id: 910_000 + at,
      name: `Record ${at}`,
      did: at < 1_100 ? "add" : "edit",
      before: at < 1_100 ? null : { name: "A" },
      after: at < 1_100 ? null : { name: "B" },
    }));
    const [{ id } = { id: 0 }] = await stack.sql<{ id: number }[]>`
      insert into changes (key, request_id, endpoint, records, asked, before)
      values (
        'many', 'r', 'ops/made-up', ${effects.map((each) => `${each.record}/${each.id}`)}, '{}',
        ${JSON.stringify(effects)}::json
      )
      returning id
    `;

    expect((await list({ record: "series/911199" })).changes).toEqual([
      expect.objectContaining({
        record: "1200 records",
        what: ["added: 1,000 contributors, 100 series", "edited: 100 series"],
      }),
    ]);
    const [whole] = (await list({ id })).changes;
    expect(whole?.what).toHaveLength(1_200);
    expect(whole?.what.at(-1)).toBe('series 911199 (Record 1199): name: "A" → "B"');
  });

  it("gives consecutive pages", async () => {
    for (let number = 0; number < 5; number++) {
      await stack.call("admin-roles/add", {
        as: administrator.token,
        body: { name: `Paged ${number}`, description: "d" },
      });
    }

    const first = await list({ endpoint: "admin-roles/add", limit: 3 });
    const second = await list({ endpoint: "admin-roles/add", limit: 3, before: first.next });

    const ids = [...first.changes, ...second.changes].map(({ id }) => id);
    expect(ids).toHaveLength(6);
    expect(ids).toEqual(ids.toSorted((one, other) => other - one));
    expect(second.next === null || second.next < (first.next ?? 0)).toBe(true);
  });

  it("holds operators' changes, and neither tokens nor images", async () => {
    const image = dataUrl(await plain().png().toBuffer());
    const contributor = await aContributor(stack.sql);
    await stack.lambda.invoke("ops-create-user", { username: "Grace", roles: [] });
    const issued = await stack.lambda.invoke("ops-issue-refresh-token", { username: "Grace", days: 1 });
    const { result } = issued as { result: { refreshToken: string } };
    await stack.call("admin-contributors/update-avatar", {
      as: administrator.token,
      path: { id: contributor.id },
      body: { image },
    });

    const { changes } = await list({ limit: 3 });

    expect(changes.map(({ endpoint, by }) => [endpoint, by])).toEqual([
      ["admin-contributors/update-avatar", administrator.username],
      ["ops/issue-refresh-token", null],
      ["ops/create-user", null],
    ]);
    const everything = JSON.stringify(await stack.sql`select to_jsonb(changes) as row from changes`);
    expect(everything).not.toContain(result.refreshToken);
    expect(everything).not.toContain(administrator.token);
    expect(everything).not.toContain(image.slice(30, 60));
  });

  it("shows the operator who added a user or opened a session, when named", async () => {
    const by = "arn:aws:sts::123456789012:assumed-role/Operators/ada";
    await stack.lambda.invoke("ops-create-user", { username: "Mary", roles: [], by });
    await stack.lambda.invoke("ops-issue-refresh-token", { username: "Mary", days: 1, by });
    await stack.lambda.invoke("ops-issue-refresh-token", { username: "Mary", days: 1 });

    const { changes } = await list({ limit: 3 });

    expect(changes.map((change) => [change.endpoint, change.by])).toEqual([
      ["ops/issue-refresh-token", null],
      ["ops/issue-refresh-token", by],
      ["ops/create-user", by],
    ]);
    // Lambda's own id of the invocation, which CloudTrail knows as well.
    const ids = await stack.sql`select request_id from changes order by id desc limit 3`;
    expect(new Set(ids.map(({ request_id: id }) => id)).size).toBe(3);
  });

  it("shows a change that exceeds a result of the Data API", async () => {
    const contributor = await aContributor(stack.sql);
    await stack.sql`
      insert into contributor_descriptions (contributor_id, language, description)
      select ${contributor.id}, 'English', repeat('漢', 20000) from generate_series(1, 40)
    `;
    await stack.call("admin-contributors/delete", { as: administrator.token, path: { id: contributor.id } });

    const { changes } = await list({ limit: 1, raw: true });

    expect(changes.map(({ what }) => what)).toEqual([["deleted, with 40 descriptions"]]);
    expect(changes.map(({ before }) => (before as { descriptions: unknown[] }).descriptions.length)).toEqual([40]);
  });

  it.each([
    { user: {} },
    { endpoint: "%" },
    { record: 0 },
    { record: "contributor/x" },
    { record: "author/5" },
    { from: "yesterday" },
    { from: "0000-01-01T00:00:00Z" },
    { to: "2026-11-21T00:00:00+23:00" },
    { since: "2026-11-21T00:00:00Z" },
    { limit: 0 },
    { limit: 1_001 },
  ])("fails for %o", async (payload) => {
    expect(await stack.lambda.invoke("ops-list-changes", payload)).toMatchObject({
      error: {
        errorMessage: expect.stringMatching(/^Invalid payload: (?!.*(pattern|Invalid input|is invalid|another form))/),
      },
    });
  });
});
