import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { useAdministrator } from "../../support/callers.ts";
import { differenceBy } from "../../support/difference.ts";
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

const expectUnchanged = async (invoke: () => Promise<unknown>, expected: object) =>
  expect(await differenceBy(stack.sql, async () => expect(await invoke()).toMatchObject(expected))).toEqual([]);

/** All that was recorded, as texts. */
const ledger = () =>
  stack.sql`select to_jsonb(changes)::text from changes union all select to_jsonb(history)::text from history`;

describe("ops-link-identity", () => {
  it("links a user to identities and awaited addresses, and returns all that they have", async () => {
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

  it.each([
    ["an identity, and ends the sessions that the user signed in to, but no other one", "subject", randomUUID(), 401],
    ["an awaited address, however it is written, and ends no session", "email", anEmail(), 200],
  ])("gives up %s", async (_, kind, value, status) => {
    const signedIn = await aSession(stack.sql, person.id);
    await stack.sql`update refresh_tokens set by_sign_in = true where digest = sha256(${signedIn}::bytea)`;
    await link({ [kind]: value });

    const sent = kind === "email" ? value.toUpperCase() : value;
    expect(await link({ [kind]: sent, remove: true })).toEqual({ result: { identities: [], emails: [] } });

    const statuses = [signedIn, person.token].map(async (as) => (await stack.call("session", { as })).status);
    expect(await Promise.all(statuses)).toEqual([status, 200]);
    expect(await link({ [kind]: value, username: administrator.username })).toHaveProperty("result");
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

  it("fails for a user who does not exist, what another user has, and what is not there to take away", async () => {
    const [subject, email] = [randomUUID(), anEmail()];
    await link({ subject });
    await link({ email });
    const { username } = await aUser(stack.sql);

    for (const [payload, message] of [
      [{ username: "nobody", subject }, "There is no such user"],
      [{ username: "nobody", email, remove: true }, "There is no such user"],
      [{ username, subject }, "The identity belongs to another user"],
      [{ username, email: email.toUpperCase() }, "The e-mail address is awaited for another user"],
      [{ username, subject, remove: true }, "The user has no such link"],
      [{ username, email, remove: true }, "The user has no such link"],
    ] as const)
      await expectUnchanged(() => link(payload), failed(message));
    const user = { username: randomUUID() };
    const [identity, awaited] = [
      { issuer, subject },
      { issuer, address: email },
    ];
    await expectUnchanged(() => create({ ...user, identity }), failed("The identity belongs to another user"));
    await expectUnchanged(
      () => create({ ...user, email: awaited }),
      failed("The e-mail address is awaited for another user"),
    );
  });

  const identity = { issuer, subject: "s" };
  const email = { issuer, address: "a@example.com" };
  it.each<[what: string, invoke: typeof link, payload: object]>([
    ["neither subject nor email", link, {}],
    ["both", link, { subject: "s", email: "a@example.com" }],
    ["an issuer with a query", link, { issuer: `${issuer}/?a=b`, subject: "s" }],
    ["a subject with a line break", link, { subject: "s\n" }],
    ["a subject that is too long", link, { subject: "s".repeat(256) }],
    ["an address without @", link, { email: "ada" }],
    ["an unknown field", link, { subject: "s", removed: true }],
    ["a new user with two links", create, { username: "New", identity, email }],
    ["a new user with a misspelt address", create, { username: "New", email: { issuer, email: "a@example.com" } }],
  ])("fails for %s", async (_, invoke, payload) => {
    await expectUnchanged(() => invoke(payload), failed(expect.stringMatching(/^Invalid payload: /)));
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
});
