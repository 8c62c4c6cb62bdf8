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
  readonly username: string | null;
  readonly record: number | null;
  readonly asked: unknown;
  readonly before: unknown;
}

async function list(payload: object): Promise<{ changes: Row[]; next: number | null }> {
  const invocation = await stack.lambda.invoke("ops-list-changes", payload);
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  return invocation.result as { changes: Row[]; next: number | null };
}

describe("ops-list-changes", () => {
  it("shows who changed what, and what it replaced", async () => {
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

    expect(changes).toEqual([
      {
        id: expect.any(Number),
        at: expect.any(String),
        requestId: headers.get("x-amzn-requestid"),
        endpoint: "admin-contributors/edit",
        userId: editor.id,
        username: editor.username,
        record: contributor.id,
        asked: expect.objectContaining({ first_name: "After", added_aliases: ["New alias"] }),
        before: {
          first_name: "Before",
          last_name: "Then",
          added_aliases: [expect.any(Number)],
          removed_aliases: [{ id: alias?.id, name: "Old alias" }],
        },
      },
    ]);
    expect(Date.now() - Date.parse(changes[0]?.at ?? "")).toBeLessThan(60_000);
  });

  it("finds changes by user, endpoint, record and time, newest first", async () => {
    const roles = [await aRole(stack.sql), await aRole(stack.sql)];
    for (const { id, name } of roles) {
      await stack.call("admin-roles/edit", { as: administrator.token, path: { id }, body: { name: `${name}!` } });
    }
    const [first, second] = roles;
    const recordsOf = async (payload: object) => (await list(payload)).changes.map(({ record }) => record);

    expect((await recordsOf({ endpoint: "admin-roles/edit" })).slice(0, 2)).toEqual([second?.id, first?.id]);
    expect((await recordsOf({ endpoint: "admin-roles" })).slice(0, 2)).toEqual([second?.id, first?.id]);
    expect(await recordsOf({ endpoint: "admin-role" })).toEqual([]);
    expect((await recordsOf({ user: administrator.username.toUpperCase(), limit: 1 }))[0]).toBe(second?.id);
    expect((await recordsOf({ user: administrator.id, limit: 1 }))[0]).toBe(second?.id);
    expect(await recordsOf({ user: "nobody" })).toEqual([]);
    expect(await recordsOf({ endpoint: "admin-roles", record: first?.id })).toEqual([first?.id]);
    expect(await recordsOf({ since: new Date(Date.now() + 60_000).toISOString() })).toEqual([]);
    expect(await recordsOf({ until: "2020-01-01T00:00:00Z" })).toEqual([]);
  });

  it("finds changes by a user's present and former name, and those of deleted users by their id alone", async () => {
    const person = await holderOf(stack.sql, "add-roles");
    await stack.call("admin-roles/add", { as: person.token, body: { name: "By somebody", description: "d" } });

    await stack.sql`update users set username = 'Renamed since' where id = ${person.id}`;
    expect((await list({ user: "renamed since" })).changes).toHaveLength(1);
    await stack.call("admin-users/delete", { as: administrator.token, path: { id: person.id } });
    expect((await list({ user: person.username })).changes).toEqual([]);
    expect((await list({ user: person.id })).changes).toEqual([
      expect.objectContaining({
        userId: person.id,
        username: null,
        asked: expect.objectContaining({ description: "d" }),
      }),
    ]);
    expect((await list({ record: person.id, endpoint: "admin-users" })).changes).toEqual([
      expect.objectContaining({ record: person.id, asked: {}, before: null }),
    ]);
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

    expect(changes.map(({ endpoint, username }) => [endpoint, username])).toEqual([
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

    expect(changes.map(({ endpoint, asked }) => [endpoint, asked])).toEqual([
      ["ops/issue-refresh-token", { username: "Mary", days: 1 }],
      ["ops/issue-refresh-token", { username: "Mary", days: 1, by }],
      ["ops/create-user", expect.objectContaining({ username: "Mary", by })],
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

    const { changes } = await list({ limit: 1 });

    expect(changes.map(({ before }) => (before as { descriptions: unknown[] }).descriptions.length)).toEqual([40]);
  });

  it.each([{ user: {} }, { endpoint: "%" }, { record: 0 }, { since: "yesterday" }, { limit: 0 }, { limit: 1_001 }])(
    "fails for %o",
    async (payload) => {
      expect(await stack.lambda.invoke("ops-list-changes", payload)).toHaveProperty("error");
    },
  );
});
