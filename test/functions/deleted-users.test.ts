import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { envelope } from "../support/envelope.ts";
import type { Person } from "../support/people.ts";
import { tinyImage as image } from "../support/pictures.ts";
import type { Request } from "../support/stack.ts";
import { latestChange } from "../support/undo.ts";
import { expectAgreement, useUploads } from "../support/uploads.ts";

const stack = useUploads();
const administrator = useAdministrator(stack);

const call = (name: string, request: Omit<Request, "as">) => stack.call(name, { as: administrator.token, ...request });

describe("Of a deleted user the ledger", () => {
  let person: Person;
  const ledger = async () =>
    JSON.stringify(
      await stack.sql`select (select json_agg(changes) from changes), (select json_agg(history) from history)`,
    );

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
    await stack.lambda.invoke("ops-undo", { change: await latestChange(stack.sql) });
    await call("admin-users/update-image", { path: { id }, body: { image } });
    await stack.call("admin-roles/add", { as: person.token, body: { name: `By ${randomUUID()}`, description: "d" } });
    await stack.lambda.invoke("ops-undo", { change: await latestChange(stack.sql) });
    expect(await ledger()).toMatch(/doomed/i);
  });

  it.each(["another user", "themselves"])("has only ids, after a deletion by %s", async (who) => {
    const as = who === "themselves" ? person.token : administrator.token;
    const rows = (await stack.sql`select from changes`).length;

    const { body } = await stack.call("admin-users/delete", { as, path: { id: person.id } });

    expect(body).toEqual(envelope(200, "User deleted"));
    expect(await ledger()).not.toMatch(/doomed/i);
    expect(await stack.sql`select from changes`).toHaveLength(rows + 1);
    expect(await stack.sql`select distinct username, caller_id from changes where caller_id = ${person.id}`).toEqual([
      { username: null, caller_id: person.id },
    ]);
  });

  it("has what the same statement did to others, and what was done to another record with the same id", async () => {
    const { id } = person;
    await stack.sql`insert into publishers (id, name, slug) overriding system value values (${id}, 'P', 'p-' || ${id}::text)`;
    await stack.sql`update users set age_verified = true where id in (${id}, ${administrator.id})`;
    const ofOthers = () => stack.sql`
      select table_name, owner, before, after
      from changed_rows
      where (table_name, owner) in (('publishers', ${id}), ('users', ${administrator.id}))
      order by change_id
    `;
    const former = await ofOthers();

    await call("admin-users/delete", { path: { id } });

    expect(former).toHaveLength(3);
    expect(await ofOthers()).toEqual(former);
  });

  it("has what a repeated request about them needs", async () => {
    const [path, headers] = [{ id: person.id }, { "Idempotency-Key": randomUUID() }];
    const body = { username: randomUUID() };
    const send = async () => [
      (await call("admin-users/edit", { path, body, headers })).status,
      (await call("admin-users/update-image", { path, body: { image }, headers })).status,
      (await call("admin-users/delete-image", { path, headers })).status,
    ];
    expect(await send()).toEqual([200, 200, 200]);
    await call("admin-users/delete", { path: { id: person.id } });

    expect(await send()).toEqual([200, 200, 200]);
    await expectAgreement(stack);
  });
});
