import { describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { envelope, invalidParameter, missingParameters } from "../support/envelope.ts";
import { aUser } from "../support/people.ts";
import { aRole, give, lock, roleIdsOf } from "../support/records.ts";
import { useStack } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";

/* Edits by merge patch (lib/contract/README.md, "Beyond the interface"). */

const stack = useStack();
const administrator = useAdministrator(stack);

const type = "application/merge-patch+json";
const patch = (name: string, id: number, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  stack.call(name, { as: administrator.token, path: { id }, body, headers: { "Content-Type": type, ...headers } });
const patchContributor = ({ id }: { id: number }, body: object) => patch("admin-contributors/edit", id, body);
const unique = () => `renamed ${crypto.randomUUID()}`;

/** A contributor whose fields are all other than their defaults. */
async function aWholeContributor(): Promise<{ id: number }> {
  const fields = { last_name: "Tezuka", gender: "male", type: "author and artist" };
  const contributor = await aContributor(stack.sql, { ...fields, first_name: unique() });
  await stack.sql`insert into contributor_links values (${contributor.id}, 0, 'https://example.com/a')`;
  return contributor;
}

const contributorOf = async ({ id }: { id: number }) =>
  (
    await stack.sql`
      select
        first_name, last_name, gender, type, public, version,
        array(select url from contributor_links where contributor_id = id order by position) as links,
        array(select name from contributor_aliases where contributor_id = contributors.id) as aliases,
        array(select language from contributor_descriptions where contributor_id = contributors.id) as languages
      from contributors
      where id = ${id}
    `
  )[0] ?? {};

async function aVerifiedUser() {
  const user = await aUser(stack.sql);
  await stack.sql`update users set age_verified = true where id = ${user.id}`;
  return user;
}

const userOf = async ({ id }: { id: number }) =>
  (await stack.sql`select username, age_verified, version from users where id = ${id}`)[0] ?? {};

describe("A merge patch of a contributor", () => {
  it.each([
    [{ first_name: "Naoki" }, {}],
    [{ last_name: "Urasawa" }, {}],
    [{ gender: "female" }, {}],
    [{ type: "artist" }, {}],
    [{ public: false }, {}],
    [{ links: ["https://example.com/b", "https://example.com/a"] }, {}],
    [{ added_aliases: ["Te"] }, { aliases: ["Te"] }],
    [{ added_descriptions: [{ description: "d", language: "de" }] }, { languages: ["German"] }],
    [{ last_name: null, gender: null, type: null, added_aliases: null }, {}],
    [
      { public: null, links: null },
      { public: false, links: [] },
    ],
  ])("changes %o and nothing else", async (fields, effect) => {
    const contributor = await aWholeContributor();
    const {
      added_aliases: _,
      added_descriptions: __,
      ...shown
    } = { added_aliases: [], added_descriptions: [], ...fields };
    const before = await contributorOf(contributor);

    const { body } = await patchContributor(contributor, fields);

    expect(body).toEqual(envelope(200, "Contributor updated"));
    expect(await contributorOf(contributor)).toEqual({ ...before, ...shown, ...effect, version: 2 });
  });

  it("removes elements, its own ones alone", async () => {
    const [one, other] = [await aWholeContributor(), await aWholeContributor()];
    const before = await contributorOf(one);
    await patchContributor(one, { added_aliases: ["Te"] });
    const [{ id = 0 } = {}] = await stack.sql`select id from contributor_aliases where contributor_id = ${one.id}`;

    const { body } = await unchanged(stack, () => patchContributor(other, { removed_aliases: [{ id }] }));

    expect(body).toEqual(invalidParameter("removed_aliases"));
    expect((await patchContributor(one, { removed_aliases: [id] })).status).toBe(200);
    expect(await contributorOf(one)).toEqual({ ...before, version: 3 });
  });

  it("answers 409 where what it leaves out makes the name another's, and changes nothing", async () => {
    const [one, other] = [await aWholeContributor(), await aWholeContributor()];
    const { first_name } = await contributorOf(other);
    await patchContributor(one, { first_name, last_name: "Else" });

    const { body } = await unchanged(stack, () => patchContributor(one, { last_name: "TEZUKA" }));

    expect(body).toEqual(envelope(409, "Contributor with this Name exists already."));
  });

  it("keeps what another one changes while it waits for the record", async () => {
    const contributor = await aWholeContributor();

    const { patched } = await stack.sql.begin(async (sql) => {
      await sql`update contributors set last_name = 'Urasawa', type = 'artist' where id = ${contributor.id}`;
      const patched = patchContributor(contributor, { gender: "female" });
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
    ["last_name", 5],
    ["public", "yes"],
    ["links", ["javascript:alert(1)"]],
    ["links", [{ domain: "example.com" }]],
    ["removed_aliases", [999_999_999]],
    ["modified_descriptions", [{ id: 999_999_999 }]],
    ["added_relations", [{ relation_id: 999_999_999, relation_type: "x" }]],
  ])("answers 400 naming %s when it is %o, and changes nothing", async (parameter, value) => {
    const contributor = await aWholeContributor();

    const { body } = await unchanged(stack, () =>
      patchContributor(contributor, { gender: "female", [parameter]: value }),
    );

    expect(body).toEqual(invalidParameter(parameter));
  });
});

it("A merge patch of a user changes what it names and nothing else; a flag that is null becomes false", async () => {
  const user = await aVerifiedUser();
  const [role, other] = [await aRole(stack.sql), await aRole(stack.sql)];
  await give(stack.sql, user, role);
  const patched = async (fields: object) => {
    expect((await patch("admin-users/edit", user.id, fields)).body).toEqual(envelope(200, "User updated"));
    return await userOf(user);
  };
  const username = unique();

  expect(await patched({ username })).toEqual({ username, age_verified: true, version: 2 });
  expect(await patched({ age_verified: null })).toEqual({ username, age_verified: false, version: 3 });
  expect(await patched({ added_roles: [other.id] })).toEqual({ username, age_verified: false, version: 4 });
  expect(await roleIdsOf(stack.sql, user)).toEqual([role.id, other.id]);
});

describe.each([
  ["admin-contributors", "first_name", aWholeContributor, contributorOf],
  ["admin-users", "username", aVerifiedUser, userOf],
] as const)("A merge patch of %s", (resource, required, make, rowOf) => {
  const name = `${resource}/edit`;

  it(`answers 400 where ${required} would be empty, or it is no JSON object, and changes nothing`, async () => {
    const { id } = await make();
    const bodies = [null, "", " \u2028", 7, ["x"]].map((value) => ({ gender: "x", [required]: value }));

    for (const body of [...bodies, "[]", "null", '"text"', "7", "{", ""]) {
      const reply = await unchanged(stack, () => patch(name, id, body));
      expect([body, reply.body]).toEqual([body, missingParameters]);
    }
  });

  it("answers 404 to nobody, and 413 to more than a body may have", async () => {
    expect((await patch(name, 987_654_321, {})).status).toBe(404);
    expect((await patch(name, 987_654_321, { [required]: "x".repeat(1_048_576) })).status).toBe(413);
  });

  it("that names no field changes nothing, and frees the caller's lock", async () => {
    const record = await make();
    await stack.call(`${resource}/id`, { as: administrator.token, path: { id: record.id } });
    const before = await rowOf(record);
    const locks = () => stack.sql`
      select from user_locks where user_id = ${record.id} and editor_id = ${administrator.id}
      union all
      select from contributor_locks where contributor_id = ${record.id} and editor_id = ${administrator.id}
    `;
    expect(await locks()).toHaveLength(1);

    for (const body of [{}, { unknown: 1, id: 1, slug: "x", version: 7 }]) {
      expect((await patch(name, record.id, body)).status).toBe(200);
      expect(await rowOf(record)).toEqual(before);
    }
    expect(await locks()).toEqual([]);
  });

  it("is known by its content type, whatever its case and parameters; one that is no patch is a plain edit", async () => {
    const { id } = await make();

    for (const each of ["Application/Merge-Patch+JSON", "application/merge-patch+json ; charset=utf-8"])
      expect([each, (await patch(name, id, {}, { "Content-Type": each })).status]).toEqual([each, 200]);
    for (const each of ["application/json", "text/plain; x=application/merge-patch+json"])
      expect([each, (await patch(name, id, {}, { "Content-Type": each })).body]).toEqual([each, missingParameters]);
  });

  it("answers 412 where the record has another version, and is done once under a key", async () => {
    const record = await make();
    const body = { [required]: unique() };
    const key = { "Idempotency-Key": crypto.randomUUID() };

    expect((await unchanged(stack, () => patch(name, record.id, body, { "If-Match": '"7"' }))).status).toBe(412);
    for (const _ of ["first", "again"])
      expect((await patch(name, record.id, body, { ...key, "If-Match": '"1"' })).status).toBe(200);
    expect(await rowOf(record)).toMatchObject({ ...body, version: 2 });
    const plain = await patch(name, record.id, body, { ...key, "Content-Type": "application/json" });
    expect(plain.body).toEqual(invalidParameter("Idempotency-Key"));
  });

  it("is in the history with what it named and what that replaced", async () => {
    const record = await make();
    const { [required]: former } = await rowOf(record);
    const renamed = unique();

    await patch(name, record.id, { [required]: renamed });

    const rows = await stack.sql`
      select before, after
      from changes join changed_rows on change_id = changes.id
      where endpoint = ${name} and owner = ${record.id}
    `;
    expect(rows).toEqual([{ before: { [required]: former }, after: { [required]: renamed } }]);
  });
});

it("A merge patch leaves another person's lock", async () => {
  const user = await aVerifiedUser();
  await lock(stack.sql, user, await aUser(stack.sql));

  await patch("admin-users/edit", user.id, {});

  expect(await stack.sql`select from user_locks where user_id = ${user.id}`).toHaveLength(1);
});

it("Endpoints without merge patches read the type as application/json", async () => {
  const role = await aRole(stack.sql);

  expect((await patch("admin-roles/edit", role.id, { name: role.name })).status).toBe(200);
  expect((await patch("admin-roles/edit", role.id, {})).body).toEqual(missingParameters);
  expect((await patch("admin-roles/add", 0, { name: unique(), description: "d" })).status).toBe(200);
});
