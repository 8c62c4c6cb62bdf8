import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { identifier } from "../support/database.ts";
import { envelope, forbidden, invalidParameter, unauthorized } from "../support/envelope.ts";
import { operate } from "../support/operate.ts";
import { aSession, holderOf, type Person } from "../support/people.ts";
import { tinyImage } from "../support/pictures.ts";
import { aRole, give, permissionId, roleIdsOf } from "../support/records.ts";
import { rounds } from "../support/rounds.ts";
import type { Reply, Request } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";
import { latestChange } from "../support/undo.ts";
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
  it("is done once and gets the same response when it is sent fifty times at once", async () => {
    for (let round = 0; round < rounds; round++) {
      const contributor = await aContributor(stack.sql);
      const send = () =>
        administrator.call("admin-contributors/edit", {
          path: { id: contributor.id },
          body: { first_name: contributor.slug, added_aliases: ["Alias"] },
          headers: keyed(`round-${round}`),
        });

      const replies = await Promise.all(Array.from({ length: 50 }, send));

      expect(statuses(replies)).toEqual(Array(50).fill(200));
      expect(await stack.sql`select from contributor_aliases where contributor_id = ${contributor.id}`).toHaveLength(1);
      expect(await changesOf("admin-contributors/edit", contributor)).toHaveLength(1);
    }
  });

  it("is a different request for another user", async () => {
    const key = randomUUID();
    const [mine, theirs] = [name(), name()];
    const other = await holderOf(stack.sql, "add-roles");

    await addRole({ name: mine }, keyed(key));
    await addRole({ name: theirs }, keyed(key), other.token);

    expect([await countOf(mine), await countOf(theirs)]).toEqual([1, 1]);
  });

  it("is a different request at another endpoint", async () => {
    const [key, role] = [randomUUID(), name()];
    await addRole({ name: role }, keyed(key));

    const { status } = await administrator.call("admin-permissions/add", {
      body: { name: role, description: "d" },
      headers: keyed(key),
    });

    expect(status).toBe(200);
  });

  describe("returns 400 and changes nothing when it comes", () => {
    const edit = (key: string, { id }: { id: number }, body: object) =>
      administrator.call("admin-roles/edit", { path: { id }, body, headers: keyed(key) });

    it("with another body", async () => {
      const [key, role] = [randomUUID(), await aRole(stack.sql)];
      await edit(key, role, { name: role.name });

      const { body } = await unchanged(stack, () => edit(key, role, { name: "Other" }));

      expect(body).toEqual(invalidParameter("Idempotency-Key"));
    });

    it("for another record", async () => {
      const [key, role, other] = [randomUUID(), await aRole(stack.sql), await aRole(stack.sql)];
      await edit(key, role, { name: role.name });

      const { body } = await unchanged(stack, () => edit(key, other, { name: role.name }));

      expect(body).toEqual(invalidParameter("Idempotency-Key"));
    });
  });

  it("may be sent again after an error, which is not stored", async () => {
    const role = name();
    await addRole({ name: role }, {});
    expect((await addRole({ name: role }, keyed(role))).status).toBe(409);

    await stack.sql`delete from roles where name = ${role}`;

    expect((await addRole({ name: role }, keyed(role))).status).toBe(200);
  });

  it.each([
    {
      what: "403 once the user has lost the permission",
      take: ({ id }: Person) => stack.sql`delete from user_roles where user_id = ${id}`,
      response: forbidden,
    },
    {
      what: "401 once the session was ended",
      take: ({ id }: Person) => stack.sql`update refresh_tokens set revoked_at = now() where user_id = ${id}`,
      response: unauthorized,
    },
    {
      what: "401 once the user was deleted",
      take: ({ id }: Person) => stack.sql`delete from users where id = ${id}`,
      response: unauthorized,
    },
  ])("gets $what, instead of the recorded response", async ({ take, response }) => {
    const editor = await holderOf(stack.sql, "add-roles");
    const role = name();
    const send = () => addRole({ name: role }, keyed(role), editor.token);
    await send();

    await take(editor);

    expect((await unchanged(stack, send)).body).toEqual(response);
  });

  describe("of a change that ended its session", () => {
    let person: Person;
    let logOut: (as: string) => Promise<unknown>;

    beforeEach(async () => {
      person = await holderOf(stack.sql, "edit-users");
      const headers = keyed(randomUUID());
      logOut = async (as) => (await stack.call("admin-users/logout", { as, path: { id: person.id }, headers })).body;
      await logOut(person.token);
    });

    it("gets the recorded response", async () => {
      expect(await logOut(person.token)).toEqual(envelope(200, "User logged out"));
    });

    it("gets 401 in a session that ended otherwise", async () => {
      const later = await aSession(stack.sql, person.id);
      await stack.sql`update refresh_tokens set revoked_at = now() where user_id = ${person.id} and revoked_at is null`;

      expect(await logOut(later)).toEqual(unauthorized);
    });
  });

  it.each([
    { what: "an empty key", key: "" },
    { what: "a key of 256 characters", key: "k".repeat(256) },
    { what: "a key with a space", key: "a b" },
    { what: "a key that is not ASCII", key: "Schlüssel" },
  ])("returns 400 and changes nothing with $what", async ({ key }) => {
    const encoded = Buffer.from(key).toString("latin1");

    const { body } = await unchanged(stack, () => addRole({ name: name() }, keyed(encoded)));

    expect(body).toEqual(invalidParameter("Idempotency-Key"));
  });

  it("returns 200 with a key of 255 characters", async () => {
    expect((await addRole({ name: name() }, keyed(name().padEnd(255, "~")))).status).toBe(200);
  });

  it("gives a record one image, sent one after the other or at once, and leaves no object behind", async () => {
    const contributor = await aContributor(stack.sql);
    const request = { path: { id: contributor.id }, body: { image: tinyImage } };
    const send = (key: string) =>
      administrator.call("admin-contributors/update-avatar", { ...request, headers: keyed(key) });

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
  });

  const ownRole = async (person: Person) => (await roleIdsOf(stack.sql, person))[0] ?? 0;
  interface Ending {
    readonly what: string;
    readonly endpoint: string;
    readonly requestOf: (person: Person) => Promise<Omit<Request, "as">>;
  }

  const endings: readonly Ending[] = [
    { what: "session", endpoint: "admin-users/logout", requestOf: async ({ id }) => ({ path: { id } }) },
    { what: "user", endpoint: "admin-users/delete", requestOf: async ({ id }) => ({ path: { id } }) },
    {
      what: "role",
      endpoint: "admin-users/edit",
      requestOf: async (person) => ({
        path: { id: person.id },
        body: { username: person.username, removed_roles: [await ownRole(person)] },
      }),
    },
    {
      what: "permission",
      endpoint: "admin-roles/edit",
      requestOf: async (person) => ({
        path: { id: await ownRole(person) },
        body: { name: name(), removed_permissions: [await permissionId(stack.sql, "edit-roles")] },
      }),
    },
  ];

  it.each(endings)("is answered 200 even if it removed the caller's own $what", async ({ endpoint, requestOf }) => {
    const person = await holderOf(stack.sql, "edit-users", "delete-users", "edit-roles");
    const request = await requestOf(person);

    const { status } = await stack.call(endpoint, { ...request, as: person.token });

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

  it("prevents a change that violates a unique index, but none of a name", async () => {
    const { id } = await aRole(stack.sql);
    await stack.sql`alter table changes add column single boolean unique`;
    await stack.sql`alter table changes alter column single set default true`;
    await addRole({ name: name() }, {});

    const added = await unchanged(stack, () => addRole({ name: name() }, {}));
    const deleted = await unchanged(stack, () => administrator.call("admin-roles/delete", { path: { id } }));

    await stack.sql`alter table changes drop column single`;
    expect([added.body, deleted.body]).toEqual(Array(2).fill(envelope(500, "Internal server error")));
  });
});

it("A function whose release is not installed returns 500 and says in the log what to run", async () => {
  const [{ schema } = {}] = await stack.sql`select schema from releases`;
  const log = vi.spyOn(console, "log");
  await stack.sql`alter schema ${identifier(schema)} rename to put_aside`;

  const { body } = await unchanged(stack, () => addRole({ name: name() }, {}));
  const reading = await administrator.call("admin-users/id", { path: { id: administrator.id } });

  await stack.sql`alter schema put_aside rename to ${identifier(schema)}`;
  expect([body, reading.body]).toEqual(Array(2).fill(envelope(500, "Internal server error")));
  const hint = `no schema ${schema}: run the ops-migrate`;
  expect(log.mock.calls.filter(([line]) => String(line).includes(hint))).toHaveLength(2);
  log.mockRestore();
});

it("Every line of the log about an administrative request has the endpoint and the caller's id, with or without the permission", async () => {
  const log = vi.spyOn(console, "log");
  const editor = await holderOf(stack.sql, "edit-users");
  await give(stack.sql, editor, await aRole(stack.sql));
  log.mockClear();

  for (const as of [administrator.token, editor.token]) {
    await addRole({ name: name() }, {}, as);
    await stack.call("admin-roles/list", { as });
    await stack.call("admin-roles/id", { as, path: { id: 987_654 } });
  }
  await stack.call("admin-users/delete-image", { as: editor.token, path: { id: editor.id } });

  const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)));
  log.mockRestore();
  expect(lines.map(({ status, endpoint, callerId }) => [status, endpoint, callerId])).toEqual([
    [200, "admin-roles-add", administrator.id],
    [200, "admin-roles-list", administrator.id],
    [404, "admin-roles-id", administrator.id],
    [403, "admin-roles-add", editor.id],
    [403, "admin-roles-list", editor.id],
    [403, "admin-roles-id", editor.id],
    [500, "admin-users-delete-image", editor.id],
    [500, "admin-users-delete-image", editor.id],
  ]);
});

describe("Of a deleted user the ledger", () => {
  let person: Person;
  const ledger = async () =>
    JSON.stringify(
      await stack.sql`select (select json_agg(changes) from changes), (select json_agg(history) from history)`,
    );
  const undoLatest = async () => stack.lambda.invoke("ops-undo", { change: await latestChange(stack.sql) });

  beforeEach(async () => {
    const username = `Doomed ${randomUUID()}`;
    await stack.lambda.invoke("ops-create-user", { username, roles: ["Administrator"], by: "An operator" });
    await stack.lambda.invoke("ops-link-identity", { username, issuer: "https://a.example", subject: username });
    await stack.lambda.invoke("ops-end-sessions", { user: username });
    const [{ id = 0 } = {}] = await stack.sql`select id from users where username = ${username}`;
    person = { id, username, token: await aSession(stack.sql, id) };
    await administrator.call("admin-users/edit", { path: { id }, body: { username: `${username} II` } });
    await undoLatest();
    await administrator.call("admin-users/update-image", { path: { id }, body: { image: tinyImage } });
    await addRole({ name: name() }, {}, person.token);
    await undoLatest();
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

    await administrator.call("admin-users/delete", { path: { id } });

    expect(former).toHaveLength(3);
    expect(await ofOthers()).toEqual(former);
  });

  it("has no digest of a request by them or about them, and none that changed nothing", async () => {
    const path = { id: person.id };
    const edit = (as: string, username: string) =>
      stack.call("admin-users/edit", { as, path, body: { username }, headers: keyed(randomUUID()) });
    const latest = await latestChange(stack.sql);
    await edit(administrator.token, "Doomed III");
    await edit(administrator.token, "Doomed III");
    await edit(person.token, "Doomed IV");
    const digests = () => stack.sql`select from changes where id > ${latest} and fingerprint is not null`;
    expect(await digests()).toHaveLength(3);

    await administrator.call("admin-users/delete", { path });

    expect(await digests()).toEqual([]);
  });

  it("returns 404 to a repeated request about them", async () => {
    const request = { path: { id: person.id }, headers: keyed(randomUUID()) };
    const body = { username: randomUUID() };
    const send = async () =>
      statuses([
        await administrator.call("admin-users/edit", { ...request, body }),
        await administrator.call("admin-users/update-image", { ...request, body: { image: tinyImage } }),
        await administrator.call("admin-users/delete-image", request),
      ]);
    expect(await send()).toEqual([200, 200, 200]);
    await administrator.call("admin-users/delete", { path: { id: person.id } });

    expect(await send()).toEqual([404, 404, 404]);
    await expectAgreement(stack);
  });

  it("recognises the deletion itself", async () => {
    const request = { path: { id: person.id }, headers: keyed(randomUUID()), as: person.token };

    const deletions = [
      await stack.call("admin-users/delete", request),
      await stack.call("admin-users/delete", request),
    ];

    expect(statuses(deletions)).toEqual([200, 200]);
  });
});

it("A record that is forgotten leaves no text in the results of merge and undo", async () => {
  const text = `Unlawful ${randomUUID()}`;
  const kept = await aContributor(stack.sql);
  const merged = await aContributor(stack.sql, { last_name: text });
  await stack.sql`
    insert into contributor_descriptions (contributor_id, language, description, source)
    values (${kept.id}, 'English', 'kept', ''), (${merged.id}, 'English', ${text}, '')
  `;
  await operate(stack, "ops-merge-contributors", { keep: kept.id, merge: [merged.id] });
  await operate(stack, "ops-undo", { change: await latestChange(stack.sql) });
  await operate(stack, "ops-undo", { change: await latestChange(stack.sql) });
  const found = () => stack.sql`
    select from (select result::text as text from changes union all select concat(before, after) from changed_rows) as each
    where text like ${`%${text}%`}
  `;
  expect(await stack.sql`select from changes where result::text like ${`%${text}%`}`).not.toEqual([]);

  for (const { id } of [kept, merged]) await stack.sql`select forget_record('contributor', ${id})`;

  expect(await found()).toEqual([]);
});
