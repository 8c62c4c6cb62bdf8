import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { secretArns } from "../../../infra/local/stage/secrets.ts";
import type * as signIn from "../../../lib/data-api/sign-in.ts";
import { digestOf } from "../../../lib/http/token.ts";
import { useAdministrator } from "../../support/callers.ts";
import { identifier } from "../../support/database.ts";
import { aSession, aUser, type Person } from "../../support/people.ts";
import { lock, lockHolderOf } from "../../support/records.ts";
import { rounds } from "../../support/rounds.ts";
import { useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";
import { latestChange, undo } from "../../support/undo.ts";

/* What the callback of a sign-in does to the database, as the role that only it logs in as. */

const stack = useStack();
const administrator = useAdministrator(stack);
let claimAttempt: typeof signIn.claimAttempt;
let openSession: typeof signIn.openSession;
let closeSession: typeof signIn.closeSession;
let person: Person;

beforeAll(async () => {
  const [{ schema } = {}] = await stack.sql`select schema from releases`;
  vi.stubEnv("RELEASE_SCHEMA", schema);
  ({ claimAttempt, openSession } = await importAs("signer"));
  ({ closeSession } = await importAs("editor"));
});

afterAll(() => vi.unstubAllEnvs());

beforeEach(async () => {
  person = await aUser(stack.sql);
});

/** A module takes the secret of its login when it is loaded. */
async function importAs(role: "signer" | "editor"): Promise<typeof signIn> {
  vi.stubEnv("DATABASE_SECRET_ARN", secretArns[role]);
  vi.resetModules();
  return await import("../../../lib/data-api/sign-in.ts");
}

const issuer = "https://accounts.example.com";

/** The time of the database's clock, in milliseconds. */
async function databaseTime(): Promise<number> {
  const [{ time = 0 } = {}] = await stack.sql`
    select ceil(1000 * extract(epoch from clock_timestamp()))::bigint as time
  `;
  return time;
}

interface Attempt extends Partial<signIn.SignIn> {
  readonly token?: string;
}

/** Comes back from the provider; with an attempt and a token of its own, unless the test has others. */
async function signInWith({ token = randomUUID(), ...input }: Attempt) {
  const startedAt = input.startedAt ?? (await databaseTime());
  const common = { issuer, subject: randomUUID(), email: null, days: 30, key: randomUUID(), id: "request" };
  const deadline = performance.now() + 20_000;
  const outcome = await openSession({ ...common, startedAt, digest: digestOf(token), ...input }, deadline);
  return { ...outcome, token };
}

const signOut = (token: string) => closeSession({ digest: digestOf(token), id: "request" }, performance.now() + 20_000);

async function link(user: Person, subject: string = randomUUID()): Promise<string> {
  await stack.sql`insert into identities (issuer, subject, user_id) values (${issuer}, ${subject}, ${user.id})`;
  return subject;
}

async function awaitEmail(user: Person, name = ""): Promise<string> {
  const email = `${name}${randomUUID()}@example.com`;
  await stack.sql`insert into awaited_emails (issuer, email, user_id) values (${issuer}, ${email}, ${user.id})`;
  return email;
}

const session = async (as: string) => (await stack.call("session", { as })).status;
const sessionsOf = ({ id }: Person) => stack.sql`
  select * from refresh_tokens where user_id = ${id} and by_sign_in and revoked_at is null
`;
const identitiesOf = ({ id }: Person) => stack.sql`select issuer, subject from identities where user_id = ${id}`;
const changesOf = ({ id }: Person) => stack.sql`
  select endpoint, caller_id, username, result from changes
  where endpoint is not null and record = ${`user/${id}`}
  order by id
`;
const byAdministrator =
  (name: string) =>
  async ({ id }: Person) =>
    (await administrator.call(name, { path: { id } })).status;

/** 200 as after a logout by an administrator. */
const endSessions = ({ id }: Person) =>
  stack.lambda.invoke("ops-end-sessions", { user: id }).then((invocation) => ("result" in invocation ? 200 : 500));

/** Calls while the responses to the first statements get lost. */
function withLostResponses<Result>(count: number, work: () => Promise<Result>): Promise<Result> {
  let calls = 0;
  stack.dataApi.intercept(() => (calls++ < count ? { kind: "drop-after" } : undefined));
  return work();
}

/** Calls while another session has locked a table, which then can only be read. */
async function whileLocked<Result>(
  table: "change_lock" | "identities",
  work: (release: () => void) => Promise<Result>,
): Promise<Result> {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  let result: Promise<Result> | undefined;
  await stack.sql.begin(async (sql) => {
    await sql`lock table ${identifier(table)} in exclusive mode`;
    result = work(release).finally(release);
    await promise;
  });
  return await (result as Promise<Result>);
}

/**
 * Calls that meet: each waits before one goes on, for the lock of all changes or, if identities are locked, as far as it
 * comes without writing one. They go on in their order.
 */
const together = <Result>(
  table: "change_lock" | "identities",
  calls: readonly (() => Promise<Result>)[],
): Promise<Result[]> =>
  whileLocked(table, async (release) => {
    const waiting = () => stack.sql`
      select from pg_locks where relation in ('change_lock'::regclass, 'identities'::regclass) and not granted
    `;
    const outcomes: Promise<Result>[] = [];
    for (const call of calls) {
      outcomes.push(call());
      await vi.waitUntil(async () => (await waiting()).length === outcomes.length, { timeout: 5_000, interval: 10 });
    }
    release();
    return await Promise.all(outcomes);
  });

describe("An unknown identity", () => {
  it("is refused and leaves no row, also if only the issuer or a capital letter is another", async () => {
    const subject = await link(person);

    for (const other of [{ subject: subject.toUpperCase() }, { subject, issuer: "https://other.example.com" }]) {
      const { status, token } = await unchanged(stack, () => signInWith(other));
      expect([status, await session(token)]).toEqual([403, 401]);
    }
  });

  it("does not wait for changes", async () => {
    const { status } = await whileLocked("change_lock", async (release) => {
      const outcome = await signInWith({});
      release();
      return outcome;
    });

    expect(status).toBe(403);
  });
});

describe("An awaited e-mail address", () => {
  it("links an identity of its issuer once, in whatever case it is written, and is erased", async () => {
    const email = await awaitEmail(person);
    const subject = randomUUID();

    expect((await signInWith({ email, issuer: "https://other.example.com" })).status).toBe(403);
    const { status, token } = await signInWith({ subject, email: email.toUpperCase() });

    expect([status, await session(token)]).toEqual([200, 200]);
    expect(await identitiesOf(person)).toEqual([{ issuer, subject }]);
    expect(await stack.sql`select from awaited_emails where email = ${email}`).toEqual([]);
    expect((await unchanged(stack, () => signInWith({ email }))).status).toBe(403);
    expect((await signInWith({ subject })).status).toBe(200);
  });

  it.each([
    { awaited: "kate", other: "\u212Aate" },
    { awaited: "ross", other: "ro\u017Fs" },
    { awaited: "strasse", other: "stra\u00DFe" },
    { awaited: "\u00E9mile", other: "\u00C9mile" },
  ])("of $awaited is not that of $other", async ({ awaited, other }) => {
    const email = await awaitEmail(person, `${awaited}-`);

    expect((await signInWith({ email: email.replace(awaited, other) })).status).toBe(403);
    expect((await signInWith({ email })).status).toBe(200);
  });

  it("links no user after thirty days", async () => {
    const email = await awaitEmail(person);
    const await_ = (days: number) => stack.sql`
      update awaited_emails set expires_at = expires_at + make_interval(days => ${days}) where email = ${email}
    `;

    await await_(-30);
    expect((await unchanged(stack, () => signInWith({ email }))).status).toBe(403);
    await await_(1);
    expect((await signInWith({ email })).status).toBe(200);
  });

  it.each([
    { whom: "one of eight people", count: 8, same: undefined, statuses: [200, ...Array(7).fill(403)], sessions: 1 },
    { whom: "one person twice", count: 2, same: "same", statuses: [200, 200], sessions: 2 },
  ])("links $whom who come with it at the same moment", async ({ count, same, statuses, sessions }) => {
    for (let round = 0; round < rounds; round++) {
      const user = await aUser(stack.sql);
      const email = await awaitEmail(user);
      const people = Array.from({ length: count }, (_, index) => `${user.id}-${same ?? index}`);

      const outcomes = await together(
        "identities",
        people.map((subject) => () => signInWith({ email, subject })),
      );

      expect(outcomes.map(({ status }) => status).sort()).toEqual(statuses);
      expect(await identitiesOf(user)).toHaveLength(1);
      expect(await sessionsOf(user)).toHaveLength(sessions);
    }
  });
});

describe("An attempt", () => {
  it("that comes back many times at once, and once more later, opens one session", async () => {
    const subject = await link(person);
    const key = randomUUID();

    const outcomes = await Promise.all(Array.from({ length: 8 }, () => signInWith({ subject, key })));
    const late = await unchanged(stack, () => signInWith({ subject, key }));

    expect(outcomes.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(409)]);
    expect([late.status, await session(late.token)]).toEqual([409, 401]);
    expect(await sessionsOf(person)).toHaveLength(1);
  });

  it("whose response is lost twice opens one session", async () => {
    const email = await awaitEmail(person);

    const { status, token } = await withLostResponses(2, () => signInWith({ email }));

    expect([status, await session(token)]).toEqual([200, 200]);
    expect(await sessionsOf(person)).toHaveLength(1);
    expect(await changesOf(person)).toHaveLength(1);
  });

  it("is claimed once, also if the response is lost", async () => {
    const key = randomUUID();
    const claim = (token: string) =>
      claimAttempt({ key, digest: digestOf(token), id: "request" }, performance.now() + 20_000);

    const first = await withLostResponses(1, () => claim("one"));
    const others = await Promise.all(["other", "another"].map(claim));

    expect([first, ...others].map(({ status }) => status)).toEqual([200, 409, 409]);
  });

  it("whose deadline is over when it gets the lock is not made", async () => {
    const subject = await link(person);

    const refused = await whileLocked("change_lock", async (release) => {
      const deadline = performance.now() + 2_000;
      const common = { issuer, subject, email: null, days: 1, key: "late", id: "late", digest: digestOf("late") };
      const outcome = await openSession({ ...common, startedAt: 0 }, deadline).catch((error) => error);
      release();
      return outcome;
    });

    expect(refused).toMatchObject({ name: "Unavailable", mayBeDone: false });
    expect(await sessionsOf(person)).toEqual([]);
  });
});

describe("Sessions of a user", () => {
  it("are twenty at most that were opened by signing in: the oldest ends", async () => {
    const subject = await link(person);
    const operators = await Promise.all(Array.from({ length: 3 }, () => aSession(stack.sql, person.id)));
    await stack.sql`update refresh_tokens set issued_at = now() - interval '1 day' where user_id = ${person.id}`;
    const other = await aUser(stack.sql);
    const others = await signInWith({ subject: await link(other) });
    const tokens: string[] = [];
    for (let number = 0; number < 22; number++) tokens.push((await signInWith({ subject })).token);

    const statuses = await Promise.all([...operators, others.token, ...tokens].map(session));

    expect(statuses).toEqual([...Array(4).fill(200), 401, 401, ...Array(20).fill(200)]);
  });

  it("that have ended do not count", async () => {
    const subject = await link(person);
    const first = await signInWith({ subject });
    for (let number = 0; number < 25; number++) await signOut((await signInWith({ subject })).token);

    expect(await session(first.token)).toBe(200);
  });
});

/** What ends all sessions of a user, and the status of attempts that began before. */
const endings: readonly { what: string; end: (user: Person) => Promise<number>; late: number }[] = [
  { what: "A logout by an administrator", end: byAdministrator("admin-users/logout"), late: 401 },
  { what: "ops-end-sessions", end: endSessions, late: 401 },
  { what: "A deletion of the user", end: byAdministrator("admin-users/delete"), late: 403 },
];

describe.each(endings)("$what", ({ end, late }) => {
  it("ends all sessions at once, and every attempt to sign in that began before, but of no other user", async () => {
    const [subject, other] = [await link(person), await link(await aUser(stack.sql))];
    const startedAt = await databaseTime();
    const before = await Promise.all([signInWith({ subject }), signInWith({ subject })]);

    expect(await end(person)).toBe(200);

    for (const { token } of before) expect(await session(token)).toBe(401);
    expect((await unchanged(stack, () => signInWith({ subject, startedAt }))).status).toBe(late);
    expect((await signInWith({ subject: other, startedAt })).status).toBe(200);
    const after = await signInWith({ subject, startedAt: 1 + (await databaseTime()) });
    expect(after.status).toBe(late === 403 ? 403 : 200);
  });

  it.each(["before", "after"])("at the same moment, %s attempts, leaves no session of them", async (order) => {
    const [subject, email] = [await link(person), await awaitEmail(person)];
    const startedAt = await databaseTime();
    const tokens: string[] = [];
    const attempts = [{ subject }, { subject }, { email }].map((identity) => async () => {
      const { status, token } = await signInWith({ ...identity, startedAt });
      tokens.push(token);
      return status;
    });
    const ending = () => end(person);

    const statuses = await together("change_lock", order === "before" ? [ending, ...attempts] : [...attempts, ending]);

    const outcomes = Array(3).fill(order === "before" ? late : 200);
    expect(statuses).toEqual(order === "before" ? [200, ...outcomes] : [...outcomes, 200]);
    expect(await Promise.all(tokens.map(session))).toEqual([401, 401, 401]);
    if (late !== 403) return;
    expect(await identitiesOf(person)).toEqual([]);
    for (const row of (await changesOf(person)).slice(0, -1))
      expect(row).toMatchObject({ username: null, result: null });
  });
});

describe("A sign-out", () => {
  it("ends the session of its token alone, however it was opened, and leaves a row in the ledger", async () => {
    const { token } = await signInWith({ subject: await link(person) });

    expect(await signOut(person.token)).toMatchObject({ status: 200, caller: person.id });

    expect(await Promise.all([person.token, token].map(session))).toEqual([401, 200]);
    await signOut(token);
    expect(await session(token)).toBe(401);
    const row = { endpoint: "sign-out", caller_id: person.id, username: person.username, result: null };
    expect((await changesOf(person)).slice(1)).toEqual([row, row]);
  });

  it("and a sign-in cannot be undone", async () => {
    const { token } = await signInWith({ subject: await link(person) });
    const reasons: string[] = [];
    for (const call of [async () => {}, () => signOut(token)]) {
      await call();
      const { refused } = await undo(stack, { change: await latestChange(stack.sql) });
      reasons.push(...refused.map(({ reason }) => reason));
    }

    expect(reasons).toEqual([
      "It changed nothing that can be undone, or what it did is forgotten",
      "Sessions that were ended stay ended",
    ]);
  });

  it("releases the user's edit locks when no other session is left", async () => {
    const other = await aSession(stack.sql, person.id);
    const edited = await aUser(stack.sql);
    await lock(stack.sql, edited, person);

    await signOut(other);
    expect(await lockHolderOf(stack.sql, edited)).toBe(person.id);

    await signOut(person.token);
    expect(await lockHolderOf(stack.sql, edited)).toBeUndefined();
  });

  it("whose response is lost is done once", async () => {
    const { status } = await withLostResponses(1, () => signOut(person.token));

    expect(status).toBe(200);
    expect(await changesOf(person)).toHaveLength(1);
  });
});
