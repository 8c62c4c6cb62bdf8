import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { envelope } from "../support/envelope.ts";
import type { Person } from "../support/people.ts";
import { tinyImage as image } from "../support/pictures.ts";
import type { Request } from "../support/stack.ts";
import { expectAgreement, useUploads } from "../support/uploads.ts";

const stack = useUploads();
const administrator = useAdministrator(stack);

const call = (name: string, request: Omit<Request, "as">) => stack.call(name, { as: administrator.token, ...request });

describe("Of a deleted user the ledger", () => {
  let person: Person;
  const text = async () => JSON.stringify(await stack.sql`select to_jsonb(changes) as row from changes`);

  beforeEach(async () => {
    const username = `Doomed ${randomUUID()}`;
    await stack.lambda.invoke("ops-create-user", { username, roles: ["Administrator"], by: "An operator" });
    await stack.lambda.invoke("ops-link-identity", { username, issuer: "https://a.example", subject: username });
    await stack.lambda.invoke("ops-end-sessions", { user: username });
    const issued = await stack.lambda.invoke("ops-issue-refresh-token", { username, days: 1 });
    const { refreshToken } = (issued as { result: { refreshToken: string } }).result;
    const [{ id = 0 } = {}] = await stack.sql`select id from users where username = ${username}`;
    person = { id, username, token: refreshToken };
    await call("admin-users/edit", { path: { id }, body: { username: `${username} II` } });
    await call("admin-users/update-image", { path: { id }, body: { image } });
    const body = { name: `By ${randomUUID()}`, description: "d" };
    await stack.call("admin-roles/add", { as: person.token, body });
    expect(await text()).toMatch(/doomed/i);
  });

  it.each(["somebody else", "themselves"])("has only ids, after a deletion by %s", async (who) => {
    const as = who === "themselves" ? person.token : administrator.token;
    const count = async () => (await stack.sql`select from changes`).length;
    const rows = await count();

    const { body } = await stack.call("admin-users/delete", { as, path: { id: person.id } });

    expect(body).toEqual(envelope(200, "User deleted"));
    expect(await text()).not.toMatch(/doomed/i);
    expect(await count()).toBe(rows + 1);
    const { id } = person;
    // Roles may have the same ids.
    const about = await stack.sql`
      select endpoint, asked, before
      from changes
      where record_id = ${id} and not starts_with(endpoint, 'admin-roles/')
      order by id desc
    `;
    expect(about.map(({ endpoint }) => endpoint)).toEqual([
      "admin-users/delete",
      "admin-users/update-image",
      "admin-users/edit",
      "ops/issue-refresh-token",
      "ops/end-sessions",
      "ops/link-identity",
      "ops/create-user",
    ]);
    expect(about.map(({ asked, before }) => [asked, before])).toEqual([[{}, null], ...Array(6).fill([null, null])]);
    expect(
      await stack.sql`select username from changes where caller_id = ${id} and endpoint = 'admin-roles/add'`,
    ).toEqual([{ username: null }]);
  });

  it("has all about another record with the same id", async () => {
    await stack.sql`
      insert into changes (key, request_id, endpoint, caller_id, username, record_id, asked)
      values (${randomUUID()}, '', 'admin-roles/edit', ${administrator.id}, 'Somebody', ${person.id}, '{"name": "R"}')
    `;

    await call("admin-users/delete", { path: { id: person.id } });

    expect(
      await stack.sql`
        select username, asked from changes where record_id = ${person.id} and endpoint = 'admin-roles/edit'
      `,
    ).toEqual([{ username: "Somebody", asked: { name: "R" } }]);
  });

  it("has what a repeated request about them needs", async () => {
    const headers = { "Idempotency-Key": randomUUID() };
    const requests = {
      "admin-users/edit": { path: { id: person.id }, body: { username: randomUUID() }, headers },
      "admin-users/update-image": { path: { id: person.id }, body: { image }, headers },
      "admin-users/delete-image": { path: { id: person.id }, headers },
    };
    const send = async () => {
      const statuses: number[] = [];
      for (const [name, request] of Object.entries(requests)) statuses.push((await call(name, request)).status);
      return statuses;
    };
    expect(await send()).toEqual([200, 200, 200]);
    await call("admin-users/delete", { path: { id: person.id } });

    expect(await send()).toEqual([200, 200, 200]);
    await expectAgreement(stack);
  });
});
