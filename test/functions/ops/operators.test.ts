import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { useAdministrator } from "../../support/callers.ts";
import { values } from "../../support/database.ts";
import { differenceBy } from "../../support/difference.ts";
import { operate } from "../../support/operate.ts";
import { aSession, aUser, holderOf, type Person } from "../../support/people.ts";
import { lock, lockHolderOf } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const issuer = "https://accounts.example.com";

const createUser = (payload: object) => stack.lambda.invoke("ops-create-user", payload);
const issue = (payload: object) => operate(stack, "ops-issue-refresh-token", payload);

const failed = (errorMessage: unknown) => ({ error: { errorMessage } });
const statusOf = async (as: string) => (await stack.call("session", { as })).status;

const expectUnchanged = async (invoke: () => Promise<unknown>, expected: object) =>
  expect(await differenceBy(stack.sql, async () => expect(await invoke()).toMatchObject(expected))).toEqual([]);

/** All that was recorded, as texts. */
const ledger = () =>
  stack.sql`select to_jsonb(changes)::text from changes union all select to_jsonb(history)::text from history`;

const tokenOf = async (username: string): Promise<string> => (await issue({ username, days: 1 })).refreshToken;

describe("The first administrator", () => {
  it("is made by two functions and may do everything", async () => {
    expect(await createUser({ username: "Ada Lovelace", roles: ["administrator"] })).toEqual({
      result: { id: 1, username: "Ada Lovelace", slug: "ada-lovelace" },
    });

    const token = await tokenOf("ADA LOVELACE");

    const { body } = await stack.call("admin-users/id", { as: token, path: { id: 1 } });
    expect(body).toMatchObject({ logged_in: true, roles: [{ name: "Administrator" }] });
  });

  it("can be replaced by another after the role was renamed and another one got its name", async () => {
    const token = await tokenOf("Ada Lovelace");
    const { body: roles } = await stack.call("admin-roles/list", { as: token });
    const { id } = roles.find(({ name }: { name: string }) => name === "Administrator");
    await stack.call("admin-roles/edit", { as: token, path: { id }, body: { name: "Editor in chief" } });
    await stack.call("admin-roles/add", { as: token, body: { name: "Administrator", description: "May do nothing" } });

    await createUser({ username: "Hedy", roles: ["Administrator"] });

    const hedy = { as: await tokenOf("Hedy"), query: { search: "hedy" } };
    const { body: users } = await stack.call("admin-users/list", hedy);
    expect(users.users[0].roles).toMatchObject([{ id, name: "Editor in chief" }]);
  });
});

describe("ops-create-user", () => {
  it("gives users without roles the default one, and a role once that is listed twice", async () => {
    await createUser({ username: "Plain" });
    await createUser({ username: "Twice", roles: ["Reader", "reader "] });

    const held = stack.sql`
      select username || ' ' || roles.name
      from users join user_roles on user_id = users.id join roles on roles.id = role_id
      where username in ('Plain', 'Twice')
      order by 1
    `;
    expect(await values(held)).toEqual(["Plain Reader", "Twice Reader"]);
  });

  it.each([
    { kind: "identity", payload: { identity: { issuer, subject: "of-a-new-user" } }, value: "of-a-new-user" },
    { kind: "address", payload: { email: { issuer, address: "New@Example.com" } }, value: "new@example.com" },
  ])("links the new user to an $kind, and records no address", async ({ kind, payload, value }) => {
    const username = randomUUID();

    const { id, ...created } = await operate(stack, "ops-create-user", { username, ...payload });

    expect(created).toMatchObject({ username });
    const links = stack.sql`
      select issuer, subject as value from identities where user_id = ${id}
      union all
      select issuer, email from awaited_emails where user_id = ${id}
    `;
    expect(await links).toEqual([{ issuer, value }]);
    expect(JSON.stringify(await ledger()).includes(value)).toBe(kind === "identity");
  });
});

describe("ops-issue-refresh-token", () => {
  it("returns a random token and its expiry time", async () => {
    const { refreshToken, expires } = await issue({ username: "Plain", days: 30 });

    expect(refreshToken).toMatch(/^[\w-]{43}$/);
    expect(Date.parse(expires) - Date.now()).toBeCloseTo(30 * 86_400_000, -5);
  });
});

describe("ops-end-sessions", () => {
  const end = (payload: object) => stack.lambda.invoke("ops-end-sessions", payload);

  it.each(["id", "name"])("ends all sessions of the user with this %s, nobody else's", async (by) => {
    const [user, other] = [await holderOf(stack.sql, "view-users"), await aUser(stack.sql)];
    const tokens = [user.token, await aSession(stack.sql, user.id)];

    const invocation = await end({ user: by === "id" ? user.id : ` ${user.username.toUpperCase()} ` });

    expect(invocation).toEqual({ result: { user: user.id, username: user.username, sessions: 2 } });
    expect(await Promise.all([...tokens, other.token].map(statusOf))).toEqual([401, 401, 200]);
    expect(await end({ user: user.id })).toMatchObject({ result: { sessions: 0 } });
  });

  it("releases the user's edit locks", async () => {
    const [user, edited] = [await aUser(stack.sql), await aUser(stack.sql)];
    await lock(stack.sql, edited, user);

    await end({ user: user.id });

    expect(await lockHolderOf(stack.sql, edited)).toBeUndefined();
  });
});

describe("ops-link-identity", () => {
  const administrator = useAdministrator(stack);
  let person: Person;

  beforeEach(async () => {
    person = await aUser(stack.sql);
  });

  const link = (payload: object) =>
    stack.lambda.invoke("ops-link-identity", { username: person.username, issuer, ...payload });
  const anEmail = () => `${randomUUID()}@example.com`;

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

  describe("gives up", () => {
    let signedIn: string;

    beforeEach(async () => {
      signedIn = await aSession(stack.sql, person.id);
      await stack.sql`update refresh_tokens set by_sign_in = true where digest = sha256(${signedIn}::bytea)`;
    });

    it("an identity, and ends the sessions that the user signed in to, but no other one", async () => {
      const subject = randomUUID();
      await link({ subject });

      expect(await link({ subject, remove: true })).toEqual({ result: { identities: [], emails: [] } });

      expect(await Promise.all([signedIn, person.token].map(statusOf))).toEqual([401, 200]);
    });

    it("an awaited address, however it is written, and ends no session", async () => {
      const email = anEmail();
      await link({ email });

      expect(await link({ email: email.toUpperCase(), remove: true })).toEqual({
        result: { identities: [], emails: [] },
      });

      expect(await Promise.all([signedIn, person.token].map(statusOf))).toEqual([200, 200]);
    });

    it.each([
      { what: "an identity", sent: { subject: randomUUID() } },
      { what: "an awaited address", sent: { email: anEmail() } },
    ])("$what, which another user may get then", async ({ sent }) => {
      await link(sent);
      await link({ ...sent, remove: true });

      expect(await link({ ...sent, username: administrator.username })).toHaveProperty("result");
    });
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

  describe("fails, and changes nothing,", () => {
    const [subject, email] = [randomUUID(), anEmail()];
    let username: string;

    beforeEach(async () => {
      await link({ subject });
      await link({ email });
      ({ username } = await aUser(stack.sql));
    });

    afterEach(async () => {
      await link({ subject, remove: true });
      await link({ email, remove: true });
    });

    it.each([
      { what: "links an identity", payload: { subject } },
      { what: "takes an awaited address away", payload: { email, remove: true } },
    ])("when it $what of a user who does not exist", async ({ payload }) => {
      await expectUnchanged(() => link({ username: "nobody", ...payload }), failed("There is no such user"));
    });

    it.each([
      { what: "identity", payload: { subject } },
      { what: "awaited address", payload: { email } },
    ])("when the user has no such $what to take away", async ({ payload }) => {
      await expectUnchanged(() => link({ username, ...payload, remove: true }), failed("The user has no such link"));
    });

    it("when another user has the identity", async () => {
      await expectUnchanged(() => link({ username, subject }), failed("The identity belongs to another user"));
    });

    it("when the address is awaited for another user", async () => {
      const payload = { username, email: email.toUpperCase() };

      await expectUnchanged(() => link(payload), failed("The e-mail address is awaited for another user"));
    });

    it("when another user has the identity of a new one", async () => {
      const payload = { username: randomUUID(), identity: { issuer, subject } };

      await expectUnchanged(() => createUser(payload), failed("The identity belongs to another user"));
    });

    it("when the address of a new user is awaited for another one", async () => {
      const payload = { username: randomUUID(), email: { issuer, address: email } };

      await expectUnchanged(() => createUser(payload), failed("The e-mail address is awaited for another user"));
    });
  });
});

describe("An operators' function", () => {
  const invalid = (text: string) => expect.stringMatching(`^Invalid payload: ${text}`);
  const user = { username: "New" };
  const identity = { issuer, subject: "s" };
  const email = { issuer, address: "a@example.com" };
  const plain = { username: "Plain", issuer };

  /** Invalid payloads of each, by what is wrong with them. */
  const refused: Readonly<Record<string, Readonly<Record<string, { payload: object; message: unknown }>>>> = {
    "ops-create-user": {
      "an unknown role": {
        payload: { ...user, roles: ["Reader", "Nobody"] },
        message: "A role in `roles` does not exist",
      },
      "a name of another user": { payload: { username: " plain " }, message: "The username is taken" },
      "no name": { payload: { roles: "x" }, message: invalid("username") },
      "an identity and an address": {
        payload: { ...user, identity, email },
        message: invalid("either `identity` or `email`"),
      },
      "an address by another field": {
        payload: { ...user, email: { issuer, email: "a@example.com" } },
        message: invalid("email"),
      },
    },
    "ops-issue-refresh-token": {
      "an unknown user": { payload: { username: "Nobody", days: 1 }, message: "There is no such user" },
      "no day": { payload: { username: "Plain", days: 0 }, message: invalid("days") },
      "more than a year": { payload: { username: "Plain", days: 366 }, message: invalid("days") },
      "no name": { payload: { days: 1 }, message: invalid("username") },
    },
    "ops-end-sessions": {
      "an unknown name": { payload: { user: "nobody" }, message: "There is no such user" },
      "an unknown id": { payload: { user: 999_999 }, message: "There is no such user" },
      "the id 0": { payload: { user: 0 }, message: invalid("user: Too small") },
      "no user": { payload: {}, message: invalid("user: a user's id or name") },
      "an unknown field": {
        payload: { user: "nobody", force: true },
        message: invalid('Unrecognized key: "force"'),
      },
    },
    "ops-link-identity": {
      "neither a subject nor an address": { payload: plain, message: invalid("either `subject` or `email`") },
      "a subject and an address": {
        payload: { ...plain, subject: "s", email: "a@example.com" },
        message: invalid("either `subject` or `email`"),
      },
      "an issuer with a query": {
        payload: { ...plain, issuer: `${issuer}/?a=b`, subject: "s" },
        message: invalid("issuer"),
      },
      "a subject with a line break": { payload: { ...plain, subject: "s\n" }, message: invalid("subject") },
      "a subject of 256 characters": { payload: { ...plain, subject: "s".repeat(256) }, message: invalid("subject") },
      "an address without a domain": { payload: { ...plain, email: "ada" }, message: invalid("email") },
      "an unknown field": {
        payload: { ...plain, subject: "s", removed: true },
        message: invalid('Unrecognized key: "removed"'),
      },
    },
  };

  describe.each(Object.entries(refused))("%s refuses, and changes nothing with", (name, wrong) => {
    it.each(Object.entries(wrong))("%s", async (_, { payload, message }) => {
      await expectUnchanged(() => stack.lambda.invoke(name, payload), failed(message));
    });
  });
});
