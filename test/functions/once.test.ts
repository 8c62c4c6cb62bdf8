import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { identifier } from "../support/database.ts";
import { envelope, forbidden, invalidParameter, unauthorized } from "../support/envelope.ts";
import { aSession, holderOf, type Person } from "../support/people.ts";
import { dataUrl, plain } from "../support/pictures.ts";
import { aRole, give, permissionId, roleIdsOf } from "../support/records.ts";
import { rounds } from "../support/rounds.ts";
import type { Reply, Request } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";
import { expectAgreement, useUploads } from "../support/uploads.ts";

const stack = useUploads();
const administrator = useAdministrator(stack);

const name = () => `once-${randomUUID()}`;
const keyed = (key: string) => ({ "Idempotency-Key": key });
const addRole = (body: object, headers: Readonly<Record<string, string>>, as = administrator.token) =>
  stack.call("admin-roles/add", { as, body: { description: "d", ...body }, headers });
const countOf = async (role: string) => (await stack.sql`select from roles where name = ${role}`).length;
const changesOf = (endpoint: string, record: { id: number }) => stack.sql`
  select distinct change_id
  from changes join history on change_id = changes.id
  where endpoint = ${endpoint} and owners @> array[${record.id}::bigint]
`;
const statuses = (replies: readonly Reply[]) => replies.map(({ status }) => status);

describe("A request with an Idempotency-Key", () => {
  it.each([
    ["admin-contributors/add", "contributors", "first_name"],
    ["admin-roles/add", "roles", "name"],
    ["admin-permissions/add", "permissions", "name"],
  ])(
    "is done once by %s, and gets the same response, with the path of what was added, also after its deletion",
    async (endpoint, table, column) => {
      const added = name();
      const add = async () => {
        const body = { [column]: added, description: "d" };
        const reply = await stack.call(endpoint, { as: administrator.token, body, headers: keyed(added) });
        return [reply.status, reply.headers.get("Location")];
      };
      const first = await add();
      const again = await add();
      const rows =
        await stack.sql`delete from ${identifier(table)} where ${identifier(column)} = ${added} returning id`;

      expect([first, again, await add()]).toEqual(Array(3).fill([200, `/admin-${table}/id/${rows[0]?.id}`]));
      expect(rows).toHaveLength(1);
    },
  );

  it("is done once and gets the same response when it is sent fifty times at once", async () => {
    for (let round = 0; round < rounds; round++) {
      const contributor = await aContributor(stack.sql);
      const send = () =>
        stack.call("admin-contributors/edit", {
          as: administrator.token,
          path: { id: contributor.id },
          body: { first_name: contributor.slug, added_aliases: ["Alias"] },
          headers: keyed(`round ${round}`.replace(" ", "-")),
        });

      const replies = await Promise.all(Array.from({ length: 50 }, send));

      expect(statuses(replies)).toEqual(Array(50).fill(200));
      expect(await stack.sql`select from contributor_aliases where contributor_id = ${contributor.id}`).toHaveLength(1);
      expect(await changesOf("admin-contributors/edit", contributor)).toHaveLength(1);
    }
  });

  it("is a different request for another user, and at another endpoint", async () => {
    const key = randomUUID();
    const [mine, theirs] = [name(), name()];
    const other = await holderOf(stack.sql, "add-roles", "add-permissions");

    await addRole({ name: mine }, keyed(key));
    await addRole({ name: theirs }, keyed(key), other.token);
    const { status } = await stack.call("admin-permissions/add", {
      as: other.token,
      body: { name: theirs, description: "d" },
      headers: keyed(key),
    });

    expect([await countOf(mine), await countOf(theirs), status]).toEqual([1, 1, 200]);
  });

  it("returns 400 and changes nothing when it comes with another body, or for another record", async () => {
    const key = randomUUID();
    const [one, other] = [await aRole(stack.sql), await aRole(stack.sql)];
    const edit = (id: number, body: object) =>
      stack.call("admin-roles/edit", { as: administrator.token, path: { id }, body, headers: keyed(key) });
    await edit(one.id, { name: one.name });

    for (const again of [() => edit(one.id, { name: "Other" }), () => edit(other.id, { name: one.name })]) {
      expect((await unchanged(stack, again)).body).toEqual(invalidParameter("Idempotency-Key"));
    }
  });

  it("may be sent again after an error, which is not stored", async () => {
    const role = name();
    await addRole({ name: role }, {});
    expect((await addRole({ name: role }, keyed(role))).status).toBe(409);

    await stack.sql`delete from roles where name = ${role}`;

    expect((await addRole({ name: role }, keyed(role))).status).toBe(200);
  });

  it("gets no recorded response after the permission, the session or the user is gone", async () => {
    const editor = await holderOf(stack.sql, "add-roles");
    const role = name();
    const again = async () => (await unchanged(stack, () => addRole({ name: role }, keyed(role), editor.token))).body;
    await addRole({ name: role }, keyed(role), editor.token);

    await stack.sql`delete from user_roles where user_id = ${editor.id}`;
    expect(await again()).toEqual(forbidden);

    await stack.sql`update refresh_tokens set revoked_at = now() where user_id = ${editor.id}`;
    expect(await again()).toEqual(unauthorized);

    await stack.sql`delete from users where id = ${editor.id}`;
    expect(await again()).toEqual(unauthorized);
  });

  it("gets the response of a change that ended the session, but not in a session that ended otherwise", async () => {
    const person = await holderOf(stack.sql, "edit-users");
    const key = keyed(randomUUID());
    const logOut = (as: string) =>
      stack.call("admin-users/logout", { as, path: { id: person.id }, headers: key }).then(({ body }) => body);
    await logOut(person.token);
    const later = await aSession(stack.sql, person.id);
    await stack.sql`update refresh_tokens set revoked_at = now() where user_id = ${person.id} and revoked_at is null`;

    expect(await logOut(person.token)).toEqual(envelope(200, "User logged out"));
    expect(await logOut(later)).toEqual(unauthorized);
  });

  it.each(["", "k".repeat(256), "a b", "Schlüssel"])(
    "returns 400 and changes nothing with the key %j, and 200 with one of 255 characters",
    async (key) => {
      const encoded = Buffer.from(key).toString("latin1");

      const { body } = await unchanged(stack, () => addRole({ name: name() }, keyed(encoded)));

      expect(body).toEqual(invalidParameter("Idempotency-Key"));
      expect((await addRole({ name: name() }, keyed(name().padEnd(255, "~")))).status).toBe(200);
    },
  );

  it("gives a record one image, sent one after the other or at once, and leaves no object behind", async () => {
    const contributor = await aContributor(stack.sql);
    const image = dataUrl(await plain().png().toBuffer());
    const send = (key: string) =>
      stack.call("admin-contributors/update-avatar", {
        as: administrator.token,
        path: { id: contributor.id },
        body: { image },
        headers: keyed(key),
      });

    const replies = [await send("one"), await send("one"), ...(await Promise.all([1, 2, 3, 4].map(() => send("two"))))];

    expect(statuses(replies)).toEqual(Array(6).fill(200));
    expect(await changesOf("admin-contributors/update-avatar", contributor)).toHaveLength(2);
    expect(await stack.keys()).toHaveLength(2);
    await expectAgreement(stack);
  });
});

describe("A change whose response is lost", () => {
  beforeEach(() => {
    let calls = 0;
    stack.dataApi.intercept(() => (calls++ === 0 ? { kind: "drop-after" } : undefined));
    return () => stack.dataApi.intercept(undefined);
  });

  const ownRole = async (person: Person) => (await roleIdsOf(stack.sql, person))[0] ?? 0;
  const ending: readonly [string, string, (person: Person) => Promise<Omit<Request, "as">>][] = [
    ["session", "admin-users/logout", async ({ id }) => ({ path: { id } })],
    ["user", "admin-users/delete", async ({ id }) => ({ path: { id } })],
    [
      "role",
      "admin-users/edit",
      async (person) => ({
        path: { id: person.id },
        body: { username: person.username, removed_roles: [await ownRole(person)] },
      }),
    ],
    [
      "permission",
      "admin-roles/edit",
      async (person) => ({
        path: { id: await ownRole(person) },
        body: { name: name(), removed_permissions: [await permissionId(stack.sql, "edit-roles")] },
      }),
    ],
  ];
  it.each(ending)("is answered 200 even if it removed the caller's own %s", async (_, endpoint, requestOf) => {
    const person = await holderOf(stack.sql, "edit-users", "delete-users", "edit-roles");
    const request = await requestOf(person);

    const { status } = await stack.call(endpoint, { ...request, as: person.token });

    stack.dataApi.intercept(undefined);
    expect(status).toBe(200);
    expect(await stack.sql`select from changes where caller_id = ${person.id}`).toHaveLength(1);
    const next = await stack.call("admin-users/logout", { path: { id: person.id }, as: person.token });
    expect(next.status).not.toBe(500);
    expect([401, 403]).toContain((await addRole({ name: name() }, {}, person.token)).status);
  });
});

describe("The ledger", () => {
  it("prevents a change when its row cannot be written", async () => {
    await stack.sql`alter table changes add constraint full_up check (endpoint <> 'admin-roles/add') not valid`;

    const { body } = await unchanged(stack, () => addRole({ name: name() }, {}));

    await stack.sql`alter table changes drop constraint full_up`;
    expect(body).toEqual(envelope(500, "Internal server error"));
  });
});

describe("A function whose release is not installed", () => {
  it("returns 500 and says in the log what to run", async () => {
    const [{ schema } = {}] = await stack.sql`select schema from releases`;
    const log = vi.spyOn(console, "log");
    await stack.sql`alter schema ${identifier(schema)} rename to put_aside`;

    const { body } = await unchanged(stack, () => addRole({ name: name() }, {}));
    const reading = await stack.call("admin-users/id", { as: administrator.token, path: { id: administrator.id } });

    await stack.sql`alter schema put_aside rename to ${identifier(schema)}`;
    expect([body, reading.body]).toEqual(Array(2).fill(envelope(500, "Internal server error")));
    const hint = `no schema ${schema}: run the ops-migrate`;
    expect(log.mock.calls.filter(([line]) => String(line).includes(hint))).toHaveLength(2);
    log.mockRestore();
  });
});

describe("Every line of the log about an administrative request", () => {
  it("has the endpoint and the caller's id, with or without the permission", async () => {
    const log = vi.spyOn(console, "log");
    const editor = await holderOf(stack.sql, "edit-users");
    await give(stack.sql, editor, await aRole(stack.sql));
    log.mockClear();

    await addRole({ name: name() }, {});
    await addRole({ name: name() }, {}, editor.token);
    await stack.call("admin-roles/list", { as: administrator.token });
    await stack.call("admin-roles/list", { as: editor.token });
    await stack.call("admin-roles/id", { as: administrator.token, path: { id: 987_654 } });
    await stack.call("admin-roles/id", { as: editor.token, path: { id: 1 } });
    await stack.call("admin-users/delete-image", { as: editor.token, path: { id: editor.id } });

    const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)));
    log.mockRestore();
    expect(lines.map(({ status, endpoint, callerId }) => [status, endpoint, callerId])).toEqual([
      [200, "admin-roles-add", administrator.id],
      [403, "admin-roles-add", editor.id],
      [200, "admin-roles-list", administrator.id],
      [403, "admin-roles-list", editor.id],
      [404, "admin-roles-id", administrator.id],
      [403, "admin-roles-id", editor.id],
      [500, "admin-users-delete-image", editor.id],
      [500, "admin-users-delete-image", editor.id],
    ]);
  });
});
