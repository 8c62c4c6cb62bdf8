import { describe, expect, it } from "vitest";
import { endSessions, killBlocked, untilBlocked } from "../../support/blocked.ts";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor, aSeries, aWholeContributor, relate } from "../../support/catalogue.ts";
import { newestChange } from "../../support/changes.ts";
import { identifier, values } from "../../support/database.ts";
import { invoke } from "../../support/invoke.ts";
import { aUser, holderOf } from "../../support/people.ts";
import { aPermission, aRole, give, permissionId, roleIdsOf } from "../../support/records.ts";
import { type Request, useStack } from "../../support/stack.ts";
import { changeBy, contents, latestChange, undo, undone } from "../../support/undo.ts";

const stack = useStack();
const administrator = useAdministrator(stack);

/** Makes a change, and returns its id. */
const change = (name: string, request: Omit<Request, "as">, as = administrator.token) =>
  changeBy(stack, name, { as, ...request });

const remove = (kind: string, { id }: { id: number }) => change(`admin-${kind}s/delete`, { path: { id } });
const add = (kind: string, body: object) => change(`admin-${kind}s/add`, { body });
const patch = (kind: string, { id }: { id: number }, body: object) => {
  const headers = { "Content-Type": "application/merge-patch+json" };
  return change(`admin-${kind}s/edit`, { path: { id }, body, headers });
};

/** Invokes an operators' function, and returns its change. */
async function operate(name: string, payload: object): Promise<number> {
  await invoke(stack, name, payload);
  return await latestChange(stack.sql);
}

const rename = (id: number, name: string) => `update contributors set first_name = '${name}' where id = ${id}`;

/** A change by another program. */
async function bySql(statement: string, ...values: unknown[]): Promise<number> {
  await stack.sql.query(statement, values);
  return await latestChange(stack.sql);
}

const newest = async (table: string) => (await stack.sql`select max(id) as id from ${identifier(table)}`)[0]?.id;

const elementsOf = (table: string, { id }: { id: number }): Promise<number[]> =>
  values(stack.sql`select id from ${identifier(table)} where contributor_id = ${id} order by id`);

/** A contributor with elements of each kind, who has a series, and is related to another one both ways. */
async function aRelatedContributor() {
  const contributor = await aWholeContributor(stack.sql);
  await aSeries(stack.sql, { by: contributor });
  await patch("contributor", contributor, {
    links: ["https://a.example", "https://b.example"],
    added_aliases: ["Two", "Three"],
  });
  await relate(stack.sql, contributor.friend, contributor, "fan");
  return { ...contributor, aliases: await elementsOf("contributor_aliases", contributor) };
}

it("ops-undo takes back a transaction that changed rows before and after it changed their keys", async () => {
  const { id } = await aSeries(stack.sql);
  const tags = stack.sql`insert into tags (name) values ('a'), ('b'), ('c'), ('d') returning id`;
  const [from, between, to, other] = await values(tags);
  await stack.sql`insert into series_tags values (${id}, ${from}), (${id}, ${to})`;
  const contributor = await aContributor(stack.sql);
  await stack.sql`insert into contributor_links (contributor_id, position, url) values (${contributor.id}, 0, 'https://a')`;
  const before = await contents(stack.sql);
  const move = (old: unknown, now: unknown) => `update series_tags set tag_id = ${now} where tag_id = ${old}`;
  const link = (change: string) => `update contributor_links set ${change} where contributor_id = ${contributor.id}`;

  const change = await bySql(
    [
      `insert into series_tags values (${id}, ${other})`,
      ...[`delete from series_tags where tag_id = ${to}`, move(from, between), move(other, from), move(between, to)],
      `delete from series_tags where tag_id = ${from}`,
      ...["url = 'https://b'", "position = 1", "position = 0", "position = 2", "url = 'https://c'"].map(link),
    ].join(";"),
  );
  const after = await contents(stack.sql);

  const undoing = await undone(stack, change);
  expect(await contents(stack.sql)).toEqual(before);
  await undone(stack, undoing);
  expect(await contents(stack.sql)).toEqual(after);
});

it("ops-undo takes back a transaction that deleted a row and inserted it again with the same id", async () => {
  const { id } = await aContributor(stack.sql, { gender: "a" });
  const role = await aRole(stack.sql);
  const user = await aUser(stack.sql);
  await give(stack.sql, user, role);
  const before = await contents(stack.sql);
  const change = await bySql(
    [
      `create temporary table renamed on commit drop as select * from contributors where id = ${id}`,
      `delete from contributors where id = ${id}`,
      `insert into contributors (id, first_name, last_name, slug, gender) overriding system value
        select id, first_name, last_name, slug, 'b' from renamed`,
      `delete from user_roles where user_id = ${user.id}`,
      `insert into user_roles (user_id, role_id) values (${user.id}, ${role.id})`,
      `delete from user_roles where (user_id, role_id) not in (values (${user.id}, ${role.id})) and user_id = ${user.id}`,
    ].join(";"),
  );
  const after = await contents(stack.sql);
  expect(after).not.toEqual(before);

  const undoing = await undone(stack, change);
  expect(await contents(stack.sql)).toEqual(before);
  await undone(stack, undoing);
  expect(await contents(stack.sql)).toEqual(after);
});

it("ops-undo gives two records their slugs back if one slug is the next free form of the other", async () => {
  for (const slug of ["next-2", "next"]) await aContributor(stack.sql, { slug });
  const before = await contents(stack.sql);

  await undone(stack, await bySql("delete from contributors where slug in ('next', 'next-2')"));

  expect(await contents(stack.sql)).toEqual(before);
});

it("ops-undo compares values, whatever form the settings of its session give them", async () => {
  const [{ role } = {}] =
    await stack.sql`select format('colophon_operator in database %I', current_database()) as role`;
  const apply = async (setting: string) => {
    await stack.sql.query(`alter role ${role} ${setting}`);
    await endSessions(stack.sql, "colophon_operator");
  };
  await stack.sql`alter table tags add column lasting interval`;
  const addition = await bySql("insert into tags (name, lasting) values ('Brief', '1 day 2 hours')");

  await apply("set intervalstyle = 'iso_8601'");
  await undone(stack, addition).finally(() => apply("reset intervalstyle"));

  expect(await stack.sql`select from tags where name = 'Brief'`).toEqual([]);
});

type Difference = readonly [record: string, row: string | undefined, now: object | null, later: number];

/** Each makes a change, and returns what is otherwise than the change left it. */
const differing: Readonly<Record<string, () => Promise<readonly [change: number, ...Difference[]]>>> = {
  "columns and elements that it touched, but no others": async () => {
    const contributor = await aRelatedContributor();
    const { id, friend, aliases, description } = contributor;
    const first = await patch("contributor", contributor, {
      gender: "b",
      type: "b",
      removed_aliases: [aliases[0]],
      added_aliases: ["Four", "Five", "Six"],
      modified_descriptions: [{ id: description, description: "Longer" }],
      added_relations: [{ relation_id: friend.id, relation_type: "foe" }],
    });
    const [, , four, five] = await elementsOf("contributor_aliases", contributor);
    const [, relation] = await elementsOf("contributor_relations", contributor);
    await patch("contributor", contributor, { gender: "c" });
    const second = await patch("contributor", contributor, {
      first_name: "Another",
      gender: "d",
      removed_aliases: [four],
      modified_descriptions: [{ id: description, description: "Longest", language: "German" }],
    });
    const renaming = await bySql("update contributor_aliases set name = 'Renamed' where id = $1", five);
    const other = await aContributor(stack.sql);
    const move = "update contributor_relations set contributor_id = $2 where id = $1";
    const moving = await bySql(move, relation, other.id);
    const record = `contributor/${id}`;
    return [
      first,
      [record, undefined, { gender: "d" }, second],
      [record, `alias ${four}`, null, second],
      [record, `alias ${five}`, { name: "Renamed" }, renaming],
      [record, `description ${description}`, { description: "Longest" }, second],
      [record, `relation ${relation}`, { contributor_id: other.id }, moving],
    ];
  },
  "a value that was changed back": async () => {
    const contributor = await aContributor(stack.sql, { gender: "a" });
    const first = await patch("contributor", contributor, { gender: "b" });
    const later = await patch("contributor", contributor, { gender: "a" });
    return [first, [`contributor/${contributor.id}`, undefined, { gender: "a" }, later]];
  },
  "a record that was deleted": async () => {
    const contributor = await aContributor(stack.sql);
    const id = await patch("contributor", contributor, { gender: "b" });
    const later = await remove("contributor", contributor);
    return [id, [`contributor/${contributor.id}`, undefined, null, later]];
  },
  "a record that is there again": async () => {
    const { id, slug } = await aContributor(stack.sql);
    const deletion = await remove("contributor", { id });
    const insertion =
      "insert into contributors (id, first_name, slug) overriding system value values ($1, 'Again', $2)";
    const later = await bySql(insertion, id, slug);
    return [deletion, [`contributor/${id}`, undefined, {}, later]];
  },
  "a former slug that leads to another record now": async () => {
    const [contributor, another] = [await aContributor(stack.sql), await aContributor(stack.sql)];
    const leading = "insert into former_slugs (slug, contributor_id) values ('before', $1)";
    await bySql(leading, contributor.id);
    const deletion = await remove("contributor", contributor);
    const later = await bySql(leading, another.id);
    return [deletion, [`contributor/${contributor.id}`, "former slug before", {}, later]];
  },
};

/** Each makes a change, and returns the rows that others have added since and that would go with its rows. */
const cascading: typeof differing = {
  "an alias of an added contributor, and a relation to the contributor": async () => {
    const addition = await add("contributor", { first_name: "Added" });
    const id = Number(await newest("contributors"));
    const other = await aContributor(stack.sql);
    const later = await patch("contributor", { id }, { added_aliases: ["Since"] });
    const relating = await patch("contributor", other, {
      added_relations: [{ relation_id: id, relation_type: "fan" }],
    });
    return [
      addition,
      [`contributor/${id}`, `alias ${await newest("contributor_aliases")}`, {}, later],
      [`contributor/${other.id}`, `relation ${await newest("contributor_relations")}`, {}, relating],
    ];
  },
};

describe.each([
  { reason: "Its rows have changed since", cases: differing },
  { reason: "Rows that were added since would go, too", cases: cascading },
])("ops-undo refuses a change with the reason $reason, and names", ({ reason, cases }) => {
  it.each(Object.entries(cases))("%s", async (_, make) => {
    const [id, ...rows] = await make();
    const before = await contents(stack.sql);
    const ledger = await stack.sql`select * from changes order by id`;

    const result = await undo(stack, { change: id });

    expect(result).toMatchObject({ undone: [], refused: [{ change: id, reason }], isDone: true });
    const found = result.refused[0]?.differing.map(({ record, row, now, later }) => [record, row, now, later?.change]);
    const sorted = (each: readonly unknown[] = []) => each.map((row) => JSON.stringify(row)).sort();
    expect(sorted(found)).toEqual(sorted(rows));
    expect(await contents(stack.sql)).toEqual(before);
    expect(await stack.sql`select * from changes order by id`).toEqual(ledger);
    expect(await undo(stack, { change: id, dryRun: true })).toEqual(result);
  });
});

it("ops-undo takes back what touched users who were deleted since, without them, and names them", async () => {
  const role = await aRole(stack.sql);
  const [gone, stays] = [await aUser(stack.sql), await aUser(stack.sql)];
  for (const user of [gone, stays]) await give(stack.sql, user, role);
  const deletion = await remove("role", role);
  await remove("user", gone);

  expect(await undo(stack, { change: deletion })).toMatchObject({
    undone: [{ missing: [`User ${gone.id} was deleted`] }],
    refused: [],
  });
  expect(await roleIdsOf(stack.sql, stays)).toEqual([role.id]);
});

/** Each makes a change that is not taken back, for this reason. */
const refusals: Readonly<Record<string, () => Promise<readonly [change: number, reason: string]>>> = {
  "the deletion of a user": async () => [
    await remove("user", await aUser(stack.sql)),
    "A deleted user is deleted for good",
  ],
  "a log-out": async () => [
    await change("admin-users/logout", { path: { id: (await aUser(stack.sql)).id } }),
    "Sessions that were ended stay ended",
  ],
  "the addition of a user": async () => [
    await operate("ops-create-user", { username: "Grace", roles: [] }),
    "Delete the user in the panel instead, which is for good",
  ],
  "a link to an identity": async () => [
    await operate("ops-link-identity", { username: administrator.username, issuer: "https://a.example", subject: "1" }),
    "Give or take the link by ops/link-identity instead",
  ],
  "an edit that changed nothing": async () => {
    const { id, name } = await aRole(stack.sql);
    return [await change("admin-roles/edit", { path: { id }, body: { name } }), "It changed nothing"];
  },
  "an edit of a user who was deleted, also of what is no text": async () => {
    const user = await aUser(stack.sql);
    const id = await patch("user", user, { age_verified: true });
    await remove("user", user);
    return [id, "It changed nothing that can be undone, or what it did is forgotten"];
  },
  "a deletion whose client is gone": async () => {
    await stack.sql`insert into clients (id, name) values (77, 'Gone')`;
    const id = await remove("contributor", await aContributor(stack.sql, { client_id: 77 }));
    await bySql("delete from clients where id = 77");
    return [id, "The contributor would reference a client that does not exist (client_id)"];
  },
  "a name that another contributor got by an edit of the other half": async () => {
    const contributor = await aContributor(stack.sql, { first_name: "Half", last_name: "Name" });
    const id = await patch("contributor", contributor, { first_name: "Whole" });
    const other = await aContributor(stack.sql, { first_name: "HALF", last_name: "Other" });
    await patch("contributor", other, { last_name: "name" });
    return [id, "Another contributor has the same first_name, last_name"];
  },
  "a slug that another contributor has": async () => {
    const { id, slug } = await aContributor(stack.sql);
    const deletion = await remove("contributor", { id });
    await aContributor(stack.sql, { slug });
    return [deletion, "Another contributor has the same slug"];
  },
  "a slug of another contributor since a merge": async () => {
    const [kept, { id, slug }] = [await aContributor(stack.sql), await aContributor(stack.sql)];
    const deletion = await remove("contributor", { id });
    const merged = await aContributor(stack.sql, { slug });
    await operate("ops-merge-contributors", { keep: kept.id, merge: [merged.id] });
    return [deletion, `The slug ${slug} would be that of contributors ${id} and ${kept.id}`];
  },
  "a former slug that another contributor has": async () => {
    const [kept, merged] = [await aContributor(stack.sql), await aContributor(stack.sql)];
    await operate("ops-merge-contributors", { keep: kept.id, merge: [merged.id] });
    const deletion = await remove("contributor", kept);
    await add("contributor", { first_name: merged.slug });
    const id = await newest("contributors");
    return [deletion, `The slug ${merged.slug} would be that of contributors ${id} and ${kept.id}`];
  },
  "a series of a contributor who was deleted, by one transaction of another program": async () => {
    const contributor = await aContributor(stack.sql);
    const { id } = await aSeries(stack.sql, { by: contributor });
    const taking = await bySql("delete from series_contributors where series_id = $1", id);
    await remove("contributor", contributor);
    return [taking, "The series contributor would reference a contributor that does not exist (contributor_id)"];
  },
  "what takes a permission of this service from the Administrator role": async () => {
    await remove("permission", { id: await permissionId(stack.sql, "delete-users") });
    const id = await add("permission", { name: "delete-users", description: "d" });
    return [id, "The Administrator role would lose its last user or a permission of this service"];
  },
  "what takes the last user from the Administrator role": async () => {
    const user = await aUser(stack.sql);
    const [role] = await stack.sql`select id from roles where key = 'administrator'`;
    const id = await patch("user", user, { added_roles: [role?.id] });
    await stack.sql`delete from user_roles where role_id = ${role?.id} and user_id <> ${user.id}`;
    return [id, "The Administrator role would lose its last user or a permission of this service"];
  },
  "what gives another role more than 500 permissions": async () => {
    const [role, permission] = [await aRole(stack.sql), await aPermission(stack.sql)];
    await stack.sql`insert into role_permissions values (${role.id}, ${permission.id})`;
    const deletion = await remove("permission", permission);
    await stack.sql`
      with made as (insert into permissions (name) select gen_random_uuid() from generate_series(1, 500) returning id)
      insert into role_permissions (role_id, permission_id) select ${role.id}, id from made
    `;
    return [deletion, `Role ${role.id} would have 501 permissions, and can have 500`];
  },
  "what touched more than 20,000 rows": async () => {
    const id = await bySql("insert into tags (name) select 'Many ' || number from generate_series(1, 20001) as number");
    await bySql("delete from tags where name like 'Many %'");
    return [id, "It touched 20,001 rows, and a call can undo 20,000"];
  },
  "an old value whose column is gone": async () => {
    await stack.sql`alter table tags add column mood text`;
    await bySql("insert into tags (name, mood) values ('Moody', 'dark')");
    const deletion = await bySql("delete from tags where name = 'Moody'");
    await stack.sql`alter table tags drop column mood`;
    return [deletion, "The column mood of tags does not exist any more"];
  },
  "an old value that the type of its column does not permit any more": async () => {
    await stack.sql`alter table tags add column year text`;
    await bySql("insert into tags (name, year) values ('Yearly', 'none')");
    const deletion = await bySql("delete from tags where name = 'Yearly'");
    await stack.sql`alter table tags alter column year type integer using null`;
    return [deletion, "A column cannot have its old value any more, since its type has changed"];
  },
  "rows of a table that is gone": async () => {
    await bySql("insert into tags (name) values ('Elsewhere')");
    const deletion = await bySql("delete from tags where name = 'Elsewhere'");
    await stack.sql`update history set table_name = 'labels' where change_id = ${deletion}`;
    return [deletion, "The table labels does not exist any more"];
  },
  "an old null of a column that cannot be empty any more": async () => {
    await stack.sql`alter table tags add column sort text`;
    await bySql("insert into tags (name) values ('Sorted')");
    const deletion = await bySql("delete from tags where name = 'Sorted'");
    await stack.sql`update tags set sort = ''`;
    await stack.sql`alter table tags alter column sort set default '', alter column sort set not null`;
    return [deletion, "The sort of the tag cannot be empty"];
  },
};

describe("ops-undo refuses", () => {
  it.each(Object.entries(refusals))("%s", async (_, make) => {
    const [id, reason] = await make();
    const before = await contents(stack.sql);
    const ledger = await stack.sql`select * from changes order by id`;

    const result = await undo(stack, { change: id });

    const refused = [{ change: id, reason: expect.stringContaining(reason), differing: [] }];
    expect(result).toMatchObject({ undone: [], refused });
    expect(result.change).toBeUndefined();

    expect(await contents(stack.sql)).toEqual(before);
    expect(await stack.sql`select * from changes order by id`).toEqual(ledger);
    // The administrator of this file, if a test has taken the role.
    await stack.sql`
      insert into user_roles (user_id, role_id)
      select ${administrator.id}, id from roles where key = 'administrator' on conflict do nothing
    `;
  });

  const [past, future] = ["2026-01-01T00:00:00Z", "2126-01-01T00:00:00Z"];
  it.each([
    { what: "no change", payload: {}, message: "either" },
    { what: "an unknown change", payload: { change: 987_654 }, message: "There is no change 987654" },
    {
      what: "a change that cannot be",
      payload: { change: Number.MAX_SAFE_INTEGER },
      message: `There is no change ${Number.MAX_SAFE_INTEGER}`,
    },
    { what: "an unknown field", payload: { change: 1, force: true }, message: "force" },
    {
      what: "a period that ends before it begins",
      payload: { user: 1, from: future, to: past },
      message: "to: It is not after `from`",
    },
    {
      what: "a period that has not begun",
      payload: { user: 1, from: future, to: "2127-01-01T00:00:00Z" },
      message: "from: It is in the future",
    },
    {
      what: "the id of an unknown user",
      payload: { user: 987_654, from: past, to: future },
      message: "There is no user 987654",
    },
    {
      what: "the name of an unknown user",
      payload: { user: "Unheard of", from: past, to: future },
      message: "There is no user Unheard of",
    },
    {
      what: "a change that is no import's",
      payload: { import: 1 },
      message: "There is no change 1 of an import",
    },
  ])("$what, as an error", async ({ payload, message }) => {
    await expect(undo(stack, payload)).rejects.toThrow(message);
  });
});

describe("ops-undo gives unique values back that records have handed on,", () => {
  const named = (first_name: string) => aContributor(stack.sql, { first_name, slug: first_name });
  it.each<{ how: string; edit: (one: number, two: number) => string }>([
    { how: "one after another", edit: (one, two) => `${rename(one, "C")}; ${rename(two, "A")}` },
    { how: "and the other way round", edit: (one, two) => `${rename(two, "C")}; ${rename(one, "B")}` },
    { how: "in a circle", edit: (one, two) => `${rename(one, "C")}; ${rename(two, "A")}; ${rename(one, "B")}` },
  ])("$how, and takes that back", async ({ edit }) => {
    await stack.sql`delete from contributors where slug in ('A', 'B')`;
    const [one, two] = [await named("A"), await named("B")];
    const before = await contents(stack.sql);
    const id = await bySql(edit(one.id, two.id));
    const after = await contents(stack.sql);

    const undoing = await undone(stack, id);
    expect(await contents(stack.sql)).toEqual(before);
    await undone(stack, undoing);
    expect(await contents(stack.sql)).toEqual(after);
  });
});

describe("ops-undo of a user's changes in a time", () => {
  const range = { from: "2026-01-01T00:00:00Z", to: "2126-01-01T00:00:00Z" };

  it("takes back what can be, in one row, and names what cannot, and can be undone", async () => {
    const editor = await holderOf(stack.sql, "edit-roles", "edit-users", "delete-users");
    const [one, two, other] = [await aRole(stack.sql), await aRole(stack.sql), await aUser(stack.sql)];
    const logout = await change("admin-users/logout", { path: { id: other.id } }, editor.token);
    const deletion = await change("admin-users/delete", { path: { id: other.id } }, editor.token);
    const start = await contents(stack.sql);
    const rename = (role: { id: number }, name: string, as = editor.token) =>
      change("admin-roles/edit", { path: { id: role.id }, body: { name } }, as);
    const first = await rename(one, "One more");
    const second = await rename(two, "Two more");
    const third = await rename(one, "One again");
    await rename(one, "One again");
    await stack.sql`insert into changes (endpoint, caller_id) values ('sign-in/callback', ${editor.id})`;
    const byAnother = await rename(two, "Two by another", administrator.token);
    const after = await contents(stack.sql);
    const payload = { user: editor.username.toUpperCase(), ...range, reason: "A mistake", by: "ada" };

    const result = await undo(stack, payload);

    expect(result).toMatchObject({
      undone: [third, first].map((id) => ({ change: id, undoneBy: result.change, userId: editor.id })),
      refused: [
        {
          change: second,
          reason: "Its rows have changed since",
          differing: [
            { now: { name: "Two by another" }, later: { change: byAnother, username: administrator.username } },
          ],
        },
        { change: deletion, reason: "A deleted user is deleted for good" },
        { change: logout, reason: "Sessions that were ended stay ended" },
      ],
      isDone: true,
    });
    const row = stack.sql`select reason, operator, to_json(undoes) as undoes from changes where id = ${result.change}`;
    expect(await row).toEqual([{ reason: "A mistake", operator: "ada", undoes: [third, first] }]);
    expect((await undo(stack, payload)).undone).toEqual([]);
    await undone(stack, result.change ?? 0);
    expect(await contents(stack.sql)).toEqual(after);
    await undone(stack, byAnother);
    expect((await undo(stack, payload)).undone).toHaveLength(3);
    expect(await contents(stack.sql)).toEqual(start);
  });

  it("takes back hundreds in rows of a hundred, of which a dry run tries what fits into one call", async () => {
    const editor = await holderOf(stack.sql, "edit-roles");
    const role = await aRole(stack.sql);
    const before: Record<string, unknown> = await contents(stack.sql);
    const first = await latestChange(stack.sql);
    for (let number = 0; number < 201; number++)
      await bySql("update roles set name = $1 where id = $2", `Many ${number}`, role.id);
    await stack.sql`update changes set caller_id = ${editor.id} where id > ${first}`;
    const payload = { user: editor.id, ...range };
    const dry = await undo(stack, { ...payload, dryRun: true });

    const result = await undo(stack, payload);

    expect(result).toMatchObject({ undone: { length: 201 }, refused: [], isDone: true });
    expect(new Set(result.undone.map(({ undoneBy }) => undoneBy)).size).toBeGreaterThan(2);
    expect(dry).toMatchObject({ refused: [], isDone: false });
    expect(dry.undone.length).toBeGreaterThan(0);
    expect(dry.undone).toEqual(result.undone.slice(0, dry.undone.length).map(({ undoneBy: _, ...each }) => each));
    const after: Record<string, unknown> = await contents(stack.sql);
    expect(after[`roles [${role.id}]`]).toEqual(before[`roles [${role.id}]`]);
  });

  it("names the change that is left as the later one, not those of the time that it has taken back", async () => {
    const editor = await holderOf(stack.sql, "edit-roles");
    const role = await aRole(stack.sql);
    const edit = (fields: object, as: string) =>
      change("admin-roles/edit", { path: { id: role.id }, body: fields }, as);
    const first = await edit({ name: "One of many", description: "a" }, editor.token);
    const byAnother = await edit({ name: "Another of many", description: "a" }, administrator.token);
    const last = await edit({ name: "Last of many", description: "b" }, editor.token);

    expect(await undo(stack, { user: editor.id, ...range })).toMatchObject({
      undone: [{ change: last }],
      refused: [{ change: first, differing: [{ now: { name: "Another of many" }, later: { change: byAnother } }] }],
    });
  });

  it("gives the user no role back, which others may have extended since", async () => {
    const [role, other] = [await aRole(stack.sql), await aRole(stack.sql)];
    const editor = await holderOf(stack.sql, "edit-users", "edit-roles");
    await give(stack.sql, editor, role);
    const path = { id: editor.id };
    const leaving = await change(
      "admin-users/edit",
      { path, body: { username: editor.username, removed_roles: [role.id] } },
      editor.token,
    );
    const misdeed = await change(
      "admin-roles/edit",
      { path: { id: other.id }, body: { name: "Misdeed" } },
      editor.token,
    );

    expect(await undo(stack, { user: editor.id, ...range })).toMatchObject({
      undone: [{ change: misdeed }],
      refused: [{ change: leaving, reason: `It would give user ${editor.id} a role back` }],
    });
    expect(await roleIdsOf(stack.sql, editor)).not.toContain(role.id);
    await undone(stack, leaving);
    expect(await roleIdsOf(stack.sql, editor)).toContain(role.id);
  });

  it("refuses a name that several users have had", async () => {
    const [user, other] = [await aUser(stack.sql), await aUser(stack.sql)];
    await stack.sql`insert into changes (caller_id, username) values (${other.id}, ${user.username})`;
    await expect(undo(stack, { user: user.username, ...range })).rejects.toThrow("Several users");
  });
});

describe("ops-undo", () => {
  describe("and a change that a result of the Data API has no room for", () => {
    const addLong = async () => {
      const { id } = await aContributor(stack.sql);
      await stack.sql`
        insert into contributor_descriptions (contributor_id, language, description)
        select ${id}, 'English', repeat('漢', 20000) from generate_series(1, 40)
      `;
      return { id };
    };

    it("takes it back, and says how it began", async () => {
      const contributor = await addLong();
      const before = await contents(stack.sql);
      const deletion = await remove("contributor", contributor);

      const { undone } = await undo(stack, { change: deletion });

      expect(undone).toMatchObject([{ what: ["added", ...Array(3).fill(expect.stringMatching(/^\+ description/))] }]);
      expect(await contents(stack.sql)).toEqual(before);
    });

    it("leaves it whole in the list of changes", async () => {
      const deletion = await remove("contributor", await addLong());

      const { rows } = await newestChange(stack, { id: deletion, raw: true });

      expect(rows?.filter(({ before }) => String(before?.description).length === 20_000)).toHaveLength(40);
    });
  });

  it("takes back thousands of rows within the time of an attempt", async () => {
    await bySql("insert into tags (name) select md5(number::text) from generate_series(1, 10000) as number");
    const before = await stack.sql`select * from tags order by id`;

    await undone(stack, await bySql("delete from tags"));

    expect(await stack.sql`select * from tags order by id`).toEqual(before);
  });

  it("is done once when the response of the database is lost", async () => {
    const id = await bySql("update roles set description = 'Lost' where is_default = 1");
    let calls = 0;
    stack.dataApi.intercept(({ sql }) =>
      sql?.includes("undo_changes") && calls++ === 0 ? { kind: "drop-after" } : undefined,
    );

    const row = await undone(stack, id).finally(() => stack.dataApi.intercept(undefined));

    expect([calls, await stack.sql`select id from changes where ${id} = any(undoes)`]).toEqual([2, [{ id: row }]]);
  });

  it("is done as a whole or not at all when the database kills its session in the middle", async () => {
    const { id } = await aRelatedContributor();
    const before = await contents(stack.sql);
    const deletion = await remove("contributor", { id });
    // The contributor and its elements are there again when it waits for this.
    await stack.sql.query(`
      create function wait_in_the_middle() returns trigger language plpgsql as $$
        begin
          perform pg_advisory_xact_lock(4711);
          return null;
        end
      $$;
      create trigger wait_in_the_middle after insert on contributor_links
        for each statement execute function wait_in_the_middle();
    `);
    const { invocation } = await stack.sql.begin(async (sql) => {
      await sql`select pg_advisory_xact_lock(4711)`;
      const invocation = stack.lambda.invoke("ops-undo", { change: deletion });
      await killBlocked(stack.sql, "undo_changes");
      // It is sent again, by another session.
      await untilBlocked(stack.sql);
      expect(await stack.sql`select from contributors where id = ${id}`).toEqual([]);
      return { invocation };
    });

    expect(await invocation).toMatchObject({ result: { undone: [{ change: deletion }] } });
    await stack.sql`drop function wait_in_the_middle cascade`;
    expect(await stack.sql`select from changes where ${deletion} = any(undoes)`).toHaveLength(1);
    expect(await contents(stack.sql)).toEqual(before);
  });
});
