import { describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { envelope, invalidParameter, missingParameters } from "../support/envelope.ts";
import { aUser, type Person } from "../support/people.ts";
import { aRole, give, lock, roleIdsOf } from "../support/records.ts";
import { useStack } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";

/* Edits by merge patch (lib/contract/README.md, "Beyond the interface"). */

const stack = useStack();
const administrator = useAdministrator(stack);

type Endpoint = "admin-contributors/edit" | "admin-users/edit";
const patch = (name: Endpoint, id: number, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  stack.call(name, {
    as: administrator.token,
    path: { id },
    body,
    headers: { "Content-Type": "application/merge-patch+json", ...headers },
  });
const ok = { "admin-contributors/edit": "Contributor updated", "admin-users/edit": "User updated" };

/** A contributor whose fields are all other than their defaults. */
async function aWholeContributor() {
  const { sql } = stack;
  const whole = { last_name: "Tezuka", gender: "male", type: "author and artist" };
  const contributor = await aContributor(sql, { ...whole, first_name: `Osamu ${crypto.randomUUID()}` });
  await sql`insert into contributor_links values (${contributor.id}, 0, 'https://example.com/a')`;
  return contributor;
}

const contributorOf = async ({ id }: { id: number }) =>
  (
    await stack.sql`
      select
        first_name, last_name, gender, type, public, version,
        array(select url from contributor_links where contributor_id = id order by position) as links
      from contributors
      where id = ${id}
    `
  )[0];

async function aVerifiedUser(): Promise<Person> {
  const user = await aUser(stack.sql);
  await stack.sql`update users set age_verified = true where id = ${user.id}`;
  return user;
}

const userOf = async ({ id }: { id: number }) =>
  (await stack.sql`select username, age_verified, version from users where id = ${id}`)[0];

describe("A merge patch of a contributor", () => {
  it.each([
    [{ first_name: "Naoki" }],
    [{ last_name: "Urasawa" }],
    [{ gender: "female" }],
    [{ type: "artist" }],
    [{ public: false }],
    [{ links: ["https://example.com/b", "https://example.com/a"] }],
  ])("changes %o and nothing else", async (fields) => {
    const contributor = await aWholeContributor();
    const before = await contributorOf(contributor);

    const { status, body } = await patch("admin-contributors/edit", contributor.id, fields);

    expect([status, body]).toEqual([200, envelope(200, "Contributor updated")]);
    expect(await contributorOf(contributor)).toEqual({ ...before, ...fields, version: 2 });
  });

  it("changes elements and leaves the fields as they are", async () => {
    const contributor = await aWholeContributor();
    const before = await contributorOf(contributor);
    const added = { added_aliases: ["Te"], added_descriptions: [{ description: "d", language: "de" }] };

    expect((await patch("admin-contributors/edit", contributor.id, added)).status).toBe(200);
    const [{ id = 0 } = {}] = await stack.sql`
      select id from contributor_aliases where contributor_id = ${contributor.id} and name = 'Te'
    `;
    expect((await patch("admin-contributors/edit", contributor.id, { removed_aliases: [id] })).status).toBe(200);

    expect(await contributorOf(contributor)).toEqual({ ...before, version: 3 });
    expect(await stack.sql`select from contributor_aliases where contributor_id = ${contributor.id}`).toEqual([]);
    expect(
      await stack.sql`select language from contributor_descriptions where contributor_id = ${contributor.id}`,
    ).toEqual([{ language: "German" }]);
  });

  it("empties what is null, and makes a flag false", async () => {
    const contributor = await aWholeContributor();
    const empty = { last_name: null, gender: null, type: null };

    await patch("admin-contributors/edit", contributor.id, {
      ...empty,
      public: null,
      links: null,
      added_aliases: null,
    });

    expect(await contributorOf(contributor)).toMatchObject({ ...empty, public: false, links: [] });
  });

  it("answers 409 where what it leaves out makes the name another's, and changes nothing", async () => {
    const [one, other] = [await aWholeContributor(), await aWholeContributor()];
    const { first_name = "" } = (await contributorOf(other)) ?? {};
    await patch("admin-contributors/edit", one.id, { last_name: "Else" });
    await patch("admin-contributors/edit", one.id, { first_name });

    const reply = await unchanged(stack, () => patch("admin-contributors/edit", one.id, { last_name: "TEZUKA" }));

    expect(reply.body).toEqual(envelope(409, "Contributor with this Name exists already."));
  });

  it("keeps what another one changes while it waits for the record", async () => {
    const contributor = await aWholeContributor();

    const { patched } = await stack.sql.begin(async (sql) => {
      await sql`update contributors set last_name = 'Urasawa', type = 'artist' where id = ${contributor.id}`;
      const patched = patch("admin-contributors/edit", contributor.id, { gender: "female" });
      const waiting = () => stack.sql`
        select from pg_locks join pg_stat_activity using (pid) where datname = current_database() and not granted
      `;
      await expect.poll(waiting).toHaveLength(1);
      return { patched };
    });

    expect((await patched).status).toBe(200);
    const fields = { last_name: "Urasawa", type: "artist", gender: "female", public: true };
    expect(await contributorOf(contributor)).toMatchObject(fields);
  });

  it.each([
    ["first_name", "x".repeat(256)],
    ["last_name", 5],
    ["public", "yes"],
    ["links", ["javascript:alert(1)"]],
    ["links", [{ domain: "example.com" }]],
    ["removed_aliases", [999_999_999]],
    ["modified_descriptions", [{ id: 999_999_999 }]],
    ["added_relations", [{ relation_id: 999_999_999, relation_type: "x" }]],
  ])("answers 400 naming %s when it is %o, and changes nothing", async (parameter, value) => {
    const contributor = await aWholeContributor();
    const body = { gender: "female", [parameter]: value };

    const reply = await unchanged(stack, () => patch("admin-contributors/edit", contributor.id, body));

    expect([reply.status, reply.body]).toEqual([400, invalidParameter(parameter)]);
  });

  it("answers 400 to an element of another contributor, and changes nothing", async () => {
    const [one, other] = [await aWholeContributor(), await aWholeContributor()];
    await patch("admin-contributors/edit", other.id, { added_aliases: ["Theirs"] });
    const [{ id = 0 } = {}] = await stack.sql`select id from contributor_aliases where contributor_id = ${other.id}`;

    const reply = await unchanged(stack, () => patch("admin-contributors/edit", one.id, { removed_aliases: [{ id }] }));

    expect(reply.body).toEqual(invalidParameter("removed_aliases"));
  });
});

describe("A merge patch of a user", () => {
  it("changes what it names and nothing else", async () => {
    const user = await aVerifiedUser();
    const role = await aRole(stack.sql);
    await give(stack.sql, user, role);
    const name = `renamed ${crypto.randomUUID()}`;

    await patch("admin-users/edit", user.id, { username: name });
    expect(await userOf(user)).toEqual({ username: name, age_verified: true, version: 2 });
    await patch("admin-users/edit", user.id, { age_verified: false });
    expect(await userOf(user)).toEqual({ username: name, age_verified: false, version: 3 });
    const other = await aRole(stack.sql);
    await patch("admin-users/edit", user.id, { added_roles: [other.id] });

    expect(await userOf(user)).toEqual({ username: name, age_verified: false, version: 4 });
    expect(await roleIdsOf(stack.sql, user)).toEqual([role.id, other.id]);
  });

  it("makes a flag false that is null", async () => {
    const user = await aVerifiedUser();

    await patch("admin-users/edit", user.id, { age_verified: null });

    expect(await userOf(user)).toMatchObject({ username: user.username, age_verified: false });
  });
});

describe.each([
  ["admin-contributors/edit", "first_name", aWholeContributor, contributorOf],
  ["admin-users/edit", "username", aVerifiedUser, userOf],
] as const)("A merge patch by %s", (name, required, make, rowOf) => {
  it(`answers 400 where ${required} would be empty, or it is no JSON object, and changes nothing`, async () => {
    const { id } = await make();
    const bodies = [null, "", " \u2028", 7, ["x"]].map((value) => ({ gender: "x", [required]: value }));

    for (const body of [...bodies, "[]", "null", '"text"', "7", "{", ""]) {
      const reply = await unchanged(stack, () => patch(name, id, body));
      expect([body, reply.status, reply.body]).toEqual([body, 400, missingParameters]);
    }
  });

  it("answers 404 to nobody, and 413 to more than a body may have", async () => {
    expect((await patch(name, 987_654_321, {})).status).toBe(404);
    expect((await patch(name, 987_654_321, { [required]: "x".repeat(1_048_576) })).status).toBe(413);
  });

  it("that names no field changes nothing, and frees the caller's lock", async () => {
    const record = await make();
    await stack.call(name.startsWith("admin-users") ? "admin-users/id" : "admin-contributors/id", {
      as: administrator.token,
      path: { id: record.id },
    });
    const before = await rowOf(record);
    const locks = () => stack.sql`
      select user_id from user_locks where user_id = ${record.id} and holder_id = ${administrator.id}
      union all
      select contributor_id from contributor_locks
      where contributor_id = ${record.id} and holder_id = ${administrator.id}
    `;
    expect(await locks()).toHaveLength(1);

    for (const body of [{}, { unknown: 1, id: 1, slug: "x", version: 7 }]) {
      expect((await patch(name, record.id, body)).body).toEqual(envelope(200, ok[name]));
      expect(await rowOf(record)).toEqual(before);
    }
    expect(await locks()).toEqual([]);
  });

  it("leaves somebody else's lock", async () => {
    const user = await aVerifiedUser();
    await lock(stack.sql, user, await aUser(stack.sql));

    await patch("admin-users/edit", user.id, {});

    expect(await stack.sql`select from user_locks where user_id = ${user.id}`).toHaveLength(1);
  });

  it("is known by its content type, whatever its case and parameters; one that is no patch is a plain edit", async () => {
    const { id } = await make();
    const types = ["Application/Merge-Patch+JSON", "application/merge-patch+json ; charset=utf-8"];
    const others = ["application/json", "text/plain; x=application/merge-patch+json"];

    for (const type of types)
      expect([type, (await patch(name, id, {}, { "Content-Type": type })).status]).toEqual([type, 200]);
    for (const type of others) {
      const { body } = await patch(name, id, {}, { "Content-Type": type });
      expect([type, body]).toEqual([type, missingParameters]);
    }
  });

  it("answers 412 where the record has another version, and is done once under a key", async () => {
    const record = await make();
    const renamed = `renamed ${crypto.randomUUID()}`;
    const key = { "Idempotency-Key": crypto.randomUUID() };
    const stale = { "If-Match": '"7"' };

    expect((await unchanged(stack, () => patch(name, record.id, { [required]: renamed }, stale))).status).toBe(412);
    for (const _ of ["first", "again"])
      expect((await patch(name, record.id, { [required]: renamed }, { ...key, "If-Match": '"1"' })).status).toBe(200);
    expect(await rowOf(record)).toMatchObject({ [required]: renamed, version: 2 });
    const plain = { ...key, "Content-Type": "application/json" };
    expect((await patch(name, record.id, { [required]: renamed }, plain)).body).toEqual(
      invalidParameter("Idempotency-Key"),
    );
  });

  it("is in the history with what it named and what that replaced", async () => {
    const record = await make();
    const before = await rowOf(record);
    const renamed = `renamed ${crypto.randomUUID()}`;

    await patch(name, record.id, { [required]: renamed });

    const rows = await stack.sql`
      select before, after
      from changes join changed_rows on change_id = changes.id
      where endpoint = ${name} and owner = ${record.id}
    `;
    expect(rows).toEqual([{ before: { [required]: before?.[required] }, after: { [required]: renamed } }]);
  });
});

it("Endpoints without merge patches read the type as application/json", async () => {
  const role = await aRole(stack.sql);
  const headers = { "Content-Type": "application/merge-patch+json" };
  const call = (name: string, body: object) =>
    stack.call(name, { as: administrator.token, path: { id: role.id }, body, headers });

  expect((await call("admin-roles/edit", { name: role.name })).status).toBe(200);
  expect((await call("admin-roles/edit", {})).body).toEqual(missingParameters);
  expect((await call("admin-roles/add", { name: crypto.randomUUID(), description: "d" })).status).toBe(200);
});
