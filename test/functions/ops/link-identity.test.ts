import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { useAdministrator } from "../../support/callers.ts";
import { aSession, aUser, type Person } from "../../support/people.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const administrator = useAdministrator(stack);
const issuer = "https://accounts.example.com";
let person: Person;

beforeEach(async () => {
  person = await aUser(stack.sql);
});

const link = (payload: object) =>
  stack.lambda.invoke("ops-link-identity", { username: person.username, issuer, ...payload });
const create = (payload: object) => stack.lambda.invoke("ops-create-user", payload);
const failed = (errorMessage: string) => ({ error: { errorMessage } });
const anEmail = () => `${randomUUID()}@example.com`;

/** Everything that an operator's function could change. */
async function state() {
  const [row] = await stack.sql`
    select
      (select json_agg(users order by id) from users) as users,
      (select json_agg(user_roles order by user_id, role_id) from user_roles) as roles,
      (select json_agg(identities order by subject) from identities) as identities,
      (select json_agg(awaited_emails order by email) from awaited_emails) as awaited_emails,
      (select json_agg(refresh_tokens order by digest) from refresh_tokens) as sessions,
      (select json_agg(changes order by id) from changes) as changes
  `;
  return row;
}

async function expectUnchanged(invoke: () => Promise<unknown>, expected: object): Promise<void> {
  const before = await state();
  expect(await invoke()).toMatchObject(expected);
  expect(await state()).toEqual(before);
}

/** All that was recorded, as texts. */
const ledger = () =>
  stack.sql`select to_jsonb(changes)::text from changes union all select to_jsonb(history)::text from history`;

describe("ops-link-identity", () => {
  it("links a user to identities and awaited addresses, and answers all that they have", async () => {
    const [subject, other, email] = [randomUUID(), randomUUID(), anEmail()];

    await link({ subject, username: person.username.toUpperCase() });
    await link({ email: email.toUpperCase() });

    expect(await link({ subject: other, issuer: "https://other.example.com" })).toEqual({
      result: {
        identities: [
          { issuer, subject },
          { issuer: "https://other.example.com", subject: other },
        ],
        emails: [{ issuer, email }],
      },
    });
  });

  it.each([["subject"], ["email"]])("changes nothing for what the user has already: the %s", async (kind) => {
    const value = kind === "email" ? anEmail() : randomUUID();
    await link({ [kind]: value });

    await expectUnchanged(() => link({ [kind]: value }), { result: {} });
  });

  it("gives up a link, and ends the sessions that the user signed in to, but no other one", async () => {
    const subject = randomUUID();
    const signedIn = await aSession(stack.sql, person.id);
    await stack.sql`update refresh_tokens set by_sign_in = true where digest = sha256(${signedIn}::bytea)`;
    await link({ subject });

    expect(await link({ subject, remove: true })).toEqual({ result: { identities: [], emails: [] } });

    const statuses = [signedIn, person.token].map(async (as) => (await stack.call("session", { as })).status);
    expect(await Promise.all(statuses)).toEqual([401, 200]);
    expect(await link({ subject, username: administrator.username })).toHaveProperty("result");
  });

  it("gives up an awaited address, however it is written, and ends no session", async () => {
    const email = anEmail();
    await stack.sql`update refresh_tokens set by_sign_in = true where user_id = ${person.id}`;
    await link({ email });

    expect(await link({ email: email.toUpperCase(), remove: true })).toEqual({
      result: { identities: [], emails: [] },
    });

    expect((await stack.call("session", { as: person.token })).status).toBe(200);
  });

  it("awaits an address for thirty days, and then anew, for the same user or another one", async () => {
    const email = anEmail();
    const pass = () => stack.sql`
      update awaited_emails set expires_at = expires_at - interval '30 days' where email = ${email}
    `;
    const other = await aUser(stack.sql);
    const links = { result: { identities: [], emails: [{ issuer, email }] } };
    for (const { username } of [person, person, other]) {
      expect(await link({ email, username })).toEqual(links);
      await pass();
    }

    expect(await link({ email, username: other.username, dryRun: true })).toEqual(links);
    expect(await link({ subject: randomUUID() })).toMatchObject({ result: { emails: [] } });
    expect(await stack.sql`select user_id from awaited_emails where email = ${email}`).toEqual([{ user_id: other.id }]);
  });

  it("fails for a user who does not exist", async () => {
    await expectUnchanged(() => link({ username: "nobody", subject: "s" }), failed("There is no such user"));
    await expectUnchanged(
      () => link({ username: "nobody", email: "a@b", remove: true }),
      failed("There is no such user"),
    );
  });

  it("fails for what another user has, and to take that from somebody else", async () => {
    const [subject, email] = [randomUUID(), anEmail()];
    await link({ subject });
    await link({ email });
    const { username } = await aUser(stack.sql);

    await expectUnchanged(() => link({ username, subject }), failed("The identity belongs to another user"));
    await expectUnchanged(
      () => link({ username, email: email.toUpperCase() }),
      failed("The e-mail address is awaited for another user"),
    );
    for (const given of [{ subject }, { email }])
      await expectUnchanged(() => link({ ...given, username, remove: true }), failed("The user has no such link"));
  });

  it.each([
    ["neither subject nor email", {}],
    ["both", { subject: "s", email: "a@example.com" }],
    ["an issuer that is no address", { issuer: "accounts.example.com", subject: "s" }],
    ["an issuer with a query", { issuer: `${issuer}/?a=b`, subject: "s" }],
    ["a subject with a line break", { subject: "s\n" }],
    ["an empty subject", { subject: "" }],
    ["a subject that is too long", { subject: "s".repeat(256) }],
    ["an address without @", { email: "ada" }],
    ["an unknown field", { subject: "s", removed: true }],
  ])("fails for %s", async (_, payload) => {
    await expectUnchanged(() => link(payload), {
      error: { errorMessage: expect.stringMatching(/^Invalid payload: /) },
    });
  });
});

describe("ops-create-user", () => {
  it.each([
    ["identity", { identity: { issuer, subject: "of-a-new-user" } }, { subject: "of-a-new-user" }],
    ["address", { email: { issuer, address: "New@Example.com" } }, { email: "new@example.com" }],
  ])("links the new user to an %s", async (_, payload, expected) => {
    const username = randomUUID();

    const created = await create({ username, ...payload });

    expect(created).toMatchObject({ result: { username } });
    const { id } = (created as { result: { id: number } }).result;
    expect(
      await stack.sql`
        select issuer, subject as value from identities where user_id = ${id}
        union all
        select issuer, email from awaited_emails where user_id = ${id}
      `,
    ).toEqual([{ issuer, value: Object.values(expected)[0] }]);
    expect(JSON.stringify(await ledger()).includes(Object.values(expected).join())).toBe("subject" in expected);
  });

  it("adds nobody with a link that another user has", async () => {
    const [subject, address] = [randomUUID(), anEmail()];
    await link({ subject });
    await link({ email: address });

    await expectUnchanged(
      () => create({ username: randomUUID(), identity: { issuer, subject } }),
      failed("The identity belongs to another user"),
    );
    await expectUnchanged(
      () => create({ username: randomUUID(), email: { issuer, address } }),
      failed("The e-mail address is awaited for another user"),
    );
  });

  it("adds nobody with two links, or a misspelt one", async () => {
    const identity = { issuer, subject: "s" };
    const email = { issuer, address: "a@example.com" };
    for (const payload of [{ identity, email }, { identitty: identity }, { email: { issuer, email: "a@example.com" } }])
      await expectUnchanged(() => create({ username: randomUUID(), ...payload }), {
        error: { errorMessage: expect.stringMatching(/^Invalid payload: /) },
      });
  });
});
