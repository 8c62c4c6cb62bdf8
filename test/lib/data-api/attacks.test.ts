import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { type LimitedRole, limitedRoles } from "../../../infra/build/database-role.ts";
import { digestOf } from "../../../lib/http/token.ts";
import { useAdministrator, useHolder } from "../../support/callers.ts";
import type { Sql } from "../../support/database.ts";
import { attempt, logIn } from "../../support/logins.ts";
import { useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

/* What attackers try who know the password of a role, and have a connection to the database. */

const stack = useStack();
const administrator = useAdministrator(stack);
let schema: string;

beforeAll(async () => {
  expect(await stack.lambda.invoke("ops-migrate", {})).toMatchObject({ result: {} });
  const [release] = await stack.sql`select schema from releases`;
  schema = release?.schema;
  await stack.sql`insert into identities (issuer, subject, user_id) values ('i', 'known', ${administrator.id})`;
});

/** Runs statements as a role; each gives its rows, or PostgreSQL's error. */
async function as<Result>(role: LimitedRole, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const sql = logIn(role);
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

/** The statements that the role may run. */
const allowedOf = (role: LimitedRole, statements: readonly string[]): Promise<string[]> =>
  as(role, async (sql) => {
    const allowed: string[] = [];
    for (const each of statements) if ((await attempt(sql, each)) === "may") allowed.push(each);
    return allowed;
  });

const others = (role: LimitedRole) => limitedRoles.filter((each) => each !== role);

/** A request of the administrator to add a role. */
const addition = (different: object) => ({
  key: randomUUID(),
  id: "i",
  endpoint: "admin-roles/add",
  digest: digestOf(administrator.token),
  input: { name: randomUUID(), description: "" },
  begin_by: "infinity",
  wait_until: "infinity",
  ...different,
});

describe.each(limitedRoles)("An attacker as %s", (role) => {
  it("may do nothing that only the owner, a superuser or another role may", async () => {
    const statements = [
      "create table made ()",
      "create temporary table made ()",
      "create schema made",
      "create function made() returns int language sql return 1",
      "create extension citext",
      "create database made",
      "create role made",
      `alter role colophon_${role} createrole`,
      `alter role colophon_${role} connection limit -1`,
      ...others(role).flatMap((other) => [
        `set role colophon_${other}`,
        `alter role colophon_${other} password 'stolen'`,
        `alter role colophon_${other} set search_path = pg_catalog`,
        `grant colophon_${other} to colophon_${role}`,
      ]),
      "set role colophon",
      "set session authorization colophon",
      "alter table tags add column made int",
      "alter function name_key(text) owner to current_user",
      "drop table tags",
      "copy tags to program 'true'",
      "select pg_read_file('postgresql.conf')",
      "select lo_import('/etc/passwd')",
      "select * from pg_authid",
      "select * from pg_shadow",
      "alter system set archive_command = 'true'",
      "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'colophon'",
      "select * from refresh_tokens",
      "select digest from refresh_tokens",
      "select subject from identities",
      "select email from awaited_emails",
      `insert into identities values ('i', 'mine', ${administrator.id})`,
      `insert into refresh_tokens values ('\\x${digestOf("minted")}', ${administrator.id}, now(), now() + interval '1 day')`,
      "update refresh_tokens set expires_at = now() + interval '1 day'",
      "delete from changes",
      "update changes set username = 'another user'",
      "truncate changes",
      "update users set username = 'taken over'",
      "select from contributors for update",
      ...["contributors in row exclusive", "change_lock in access share", "change_lock in row exclusive"].map(
        (lock) => `do $$ begin lock table ${lock} mode; end $$`,
      ),
    ];

    expect(await allowedOf(role, statements)).toEqual([]);
  });

  it("calls no step of changes with a caller of its own making", async () => {
    const request = `json_populate_record(null::${schema}.request, '{"input": {}}')`;
    const caller = `(${administrator.id}, 'taken over', null)::${schema}.caller`;
    const steps = [
      `take_locks(${request}, false)`,
      ...["add_role", "edit_user", "sign_in", "sign_out"].map((name) => `${name}(${request}, ${caller})`),
      ...["open_session", "tidy"].map((name) => `${name}(${request})`),
    ];

    const statements = steps.map((step) => `select ${schema}.${step}`);
    expect(await allowedOf(role, statements)).toEqual([]);
  });

  it("acts as no user, and opens no session", async () => {
    const { id, username } = administrator;
    const forged = { key: "k", id: "i", endpoint: "admin-roles/add", caller: id, username, status: null, days: 30 };
    const input = JSON.stringify({ ...forged, permission: "add-roles", digest: digestOf("guessed"), input: {} });
    const identity = { issuer: "i", subject: "known", days: 30, startedAt: "infinity" };
    const signingIn = JSON.stringify({ ...forged, digest: digestOf("minted"), input: identity });
    const opening = JSON.stringify({ ...forged, digest: digestOf("minted"), input: { username, days: 30 } });

    await unchanged(stack, () =>
      as(role, async (sql) => {
        for (const call of [
          `make_change('add_role', '${input}')`,
          `make_change('open_session', '${input}')`,
          `make_change('tidy', '${input}')`,
          `make_change('sign_in', '${signingIn}')`,
          `make_change('sign_out', '${input}')`,
          ...(role === "signer" ? [] : [`make_sign_in('${signingIn}')`]),
          ...(role === "operator" ? [] : [`make_operator_change('open_session', '${opening}')`]),
          `open_record('${id}', 'user', ${id})`,
          `open_record('${digestOf("guessed")}', 'user', ${id})`,
          `open_record('${id}', 'contributor', 1)`,
        ])
          await attempt(sql, `select ${schema}.${call}`);
        return { status: 403 };
      }),
    );
  });

  it.runIf(role === "editor")("takes the locks of a change, whatever the connection has set", async () => {
    const request = addition({ permission: "add-roles" });

    const locks = await as(role, (sql) =>
      sql.begin(async (transaction) => {
        await transaction.query("set colophon.is_rolled_back = 'on'");
        const outcome = await transaction.query(
          `select status from ${schema}.make_change('add_role', '${JSON.stringify(request)}')`,
        );
        expect(outcome).toEqual([{ status: 200 }]);
        return await transaction.query("select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()");
      }),
    );

    expect(locks.length).toBeGreaterThan(0);
  });

  it("cannot keep others from writing by all that they can hold", async () => {
    const name = randomUUID();
    const headers = { "Idempotency-Key": name };
    const keys = [
      "8146205",
      ...[`admin-contributors/add ${name}`, `contributor ${name}\n`, `contributors/${name}`].map(
        (text) => `hashtextextended('${text}', 0)`,
      ),
    ];
    await as(role, async (sql) => {
      await sql.begin(async (transaction) => {
        for (const setting of ["statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout"])
          await transaction.query(`set ${setting} = 0`);
        for (const key of keys) await transaction.query(`select pg_advisory_lock(${key})`);
        await transaction`select lo_from_bytea(0, 'mine')`;

        const added = await administrator.call("admin-contributors/add", { body: { first_name: name }, headers });

        expect(added.status).toBe(200);
      });
    });
  });

  it("writes large objects that no other role reads", async () => {
    const [written] = await as(role, (sql) => sql`select lo_from_bytea(0, 'mine') as id`);

    for (const other of others(role))
      expect(await allowedOf(other, [`select lo_get(${written?.id})`, `select lo_unlink(${written?.id})`])).toEqual([]);
    await as(role, (sql) => sql`select lo_unlink(${written?.id})`);
  });
});

it("An attacker as public writes nothing by mistake, not even a large object", async () => {
  const sql = logIn("public", {});

  await expect(sql`select lo_from_bytea(0, 'mine')`).rejects.toMatchObject({ code: "25006" });
  await sql.end();
});

it("An attacker as reader gets the guard's own status, whatever the search path is", async () => {
  await as("reader", async (sql) => {
    await sql`set search_path = pg_temp, pg_catalog`;

    for (const [token, status] of Object.entries({ [administrator.token]: 200, guessed: 401 })) {
      const call = `${schema}.caller('${digestOf(token)}', 'view-users', 401)`;
      expect(await sql.query(`select status from ${call}`)).toEqual([{ status }]);
    }
  });
});

describe("An attacker as editor", () => {
  const viewer = useHolder(stack, "view-contributors");
  const userEditor = useHolder(stack, "edit-users");
  const make = async (change: string, request: object) => {
    const [row] = await as("editor", (sql) =>
      sql.query(`select status from ${schema}.make_change('${change}', '${JSON.stringify(request)}')`),
    );
    return row as { readonly status: number };
  };

  it.each([
    { named: "the session's", permission: "view-contributors" },
    { named: "an empty", permission: "" },
    { named: "no", permission: null },
  ])(
    "deletes no contributor with a session that may only view, if the request names $named permission",
    async ({ permission }) => {
      const digest = digestOf(viewer.token);
      const request = addition({ digest, permission, table_name: null, target: 1 });

      expect(await unchanged(stack, () => make("delete_contributor", request))).toEqual({ status: 403 });
    },
  );

  it.each([
    { named: "another", table_name: "contributors" },
    { named: "no", table_name: null },
  ])("edits no user who outranks the session's, if the request names $named table", async ({ table_name }) => {
    const digest = digestOf(userEditor.token);
    const request = addition({ digest, table_name, target: administrator.id });

    expect(await unchanged(stack, () => make("log_out_user", request))).toEqual({ status: 403 });
  });

  it.each(["tidy", "open_session", "sign_in", "nothing"])("makes no change that is no caller's: %s", async (change) => {
    expect(await unchanged(stack, () => make(change, addition({ permission: null })))).toEqual({ status: 403 });
  });
});

describe("An attacker as signer", () => {
  const signIn = (subject: string, token: string, more: object = {}) =>
    as("signer", async (sql) => {
      const input = { issuer: "i", subject, email: null, days: 30, startedAt: "infinity", ...more };
      const request = { key: randomUUID(), id: "i", digest: digestOf(token), input, ...more };
      const [row] = await sql.query(`select status from ${schema}.make_sign_in('${JSON.stringify(request)}')`);
      return row as { status: number };
    });

  it("signs in only the user of an identity, whichever user the request names", async () => {
    const { id, username } = administrator;
    const forged = { caller: id, username, target: id, user_id: id, digest: digestOf(administrator.token) };

    expect(await unchanged(stack, () => signIn("unknown", "minted", forged))).toEqual({ status: 403 });
  });

  it.each([
    { what: "of no day", invalid: { days: 0 } },
    { what: "of more than a year", invalid: { days: 366 } },
    { what: "of an attempt without a time", invalid: { startedAt: null } },
  ])("opens no session $what", async ({ invalid }) => {
    expect(await unchanged(stack, () => signIn("known", "minted", invalid))).toEqual({ status: 400 });
  });

  it("does not write another endpoint, user or record into the ledger", async () => {
    const token = randomUUID();
    const other = { endpoint: "admin-users/delete", username: "another user", caller: 1, target: 987_654 };

    expect(await signIn("known", token, other)).toEqual({ status: 200 });

    const [row] = await stack.sql`select endpoint, caller_id, username, record from changes order by id desc limit 1`;
    const { id, username } = administrator;
    expect(row).toEqual({ endpoint: "sign-in/callback", caller_id: id, username, record: `user/${id}` });
  });
});

describe("An attacker as operator", () => {
  const operate = (change: string, input: object, more: object = {}) =>
    as("operator", async (sql) => {
      const common = { key: randomUUID(), id: "i", endpoint: "ops/tidy", digest: digestOf(randomUUID()) };
      const request = { ...common, input, ...more };
      const [row] = await sql.query(
        `select * from ${schema}.make_operator_change('${change}', '${JSON.stringify(request)}')`,
      );
      return row as { status: number };
    });

  it.each([0, -1, -400, null])("neither tidies nor opens a session for %s days", async (days) => {
    await stack.sql`insert into changes (key, request_id, endpoint, at) values (${randomUUID()}, 'i', 'old', now() - interval '30 days')`;
    const refused = { status: 400, body: '"days"' };
    const { username } = administrator;

    expect(await unchanged(stack, () => operate("tidy", { days }))).toMatchObject(refused);
    expect(await unchanged(stack, () => operate("open_session", { username, days }))).toMatchObject(refused);
  });

  it("signs the ledger with no user's name", async () => {
    const username = `signed ${randomUUID()}`;
    const forged = { caller: administrator.id, username: administrator.username, endpoint: "admin-users/edit" };

    expect(await operate("create_user", { username, slug: username, roles: [] }, forged)).toMatchObject({
      status: 200,
    });

    const signed = await stack.sql`
      select caller_id as id, changes.username
      from changes join history on change_id = changes.id
      where table_name = 'users' and owners @> array[(select users.id from users where users.username = ${username})]
    `;
    expect(signed).toEqual([{ id: null, username: null }]);
  });
});
