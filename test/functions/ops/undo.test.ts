import { describe, expect, inject, it } from "vitest";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor, aSeries } from "../../support/catalogue.ts";
import { identifier, openDatabase } from "../../support/database.ts";
import { aUser, holderOf } from "../../support/people.ts";
import { aPermission, aRole, defaultRoleId, give, permissionId, roleIdsOf } from "../../support/records.ts";
import { type Request, useStack } from "../../support/stack.ts";
import { contents, latestChange, undo, undone } from "../../support/undo.ts";

const stack = useStack();
const administrator = useAdministrator(stack);

/** Makes a change, and returns its id. */
async function change(name: string, request: Omit<Request, "as">, as = administrator.token): Promise<number> {
  const { status, body } = await stack.call(name, { as, ...request });
  expect({ name, status, body }).toMatchObject({ status: 200 });
  return await latestChange(stack.sql);
}

const idsOf = async (table: "aliases" | "descriptions" | "relations", { id }: { id: number }): Promise<number[]> => {
  const rows = await stack.sql.query<{ id: number }[]>(
    `select id from contributor_${table} where contributor_id = $1 order by id`,
    [id],
  );
  return rows.map((row) => row.id);
};

/** A contributor with elements of each kind, and somebody whom it is related to. */
async function aWholeContributor() {
  const contributor = await aContributor(stack.sql, { type: "author", gender: "female" });
  const friend = await aContributor(stack.sql);
  const series = await aSeries(stack.sql, { by: contributor });
  const first_name = `First ${contributor.id}`;
  await change("admin-contributors/edit", {
    path: { id: contributor.id },
    body: {
      first_name,
      public: true,
      links: ["https://a.example", "https://b.example", "https://c.example"],
      added_aliases: ["One", "Two", "Three"],
      added_descriptions: ["Long", "Short"].map((description) => ({ description, language: "English" })),
      added_relations: ["friend", "foe"].map((relation_type) => ({ relation_id: friend.id, relation_type })),
    },
  });
  await change("admin-contributors/edit", {
    path: { id: friend.id },
    body: {
      first_name: `Friend ${friend.id}`,
      added_relations: [{ relation_id: contributor.id, relation_type: "friend" }],
    },
  });
  const [aliases, descriptions, relations] = await Promise.all([
    idsOf("aliases", contributor),
    idsOf("descriptions", contributor),
    idsOf("relations", contributor),
  ]);
  return { ...contributor, first_name, friend, series, aliases, descriptions, relations };
}

/** Undoes a change, and then that; the database is as before, and then as after it. */
async function expectUndone(make: () => Promise<number>): Promise<void> {
  const before = await contents(stack.sql);
  const id = await make();
  const after = await contents(stack.sql);
  expect(after).not.toEqual(before);

  const first = await undone(stack, id);
  expect(await contents(stack.sql)).toEqual(before);
  const second = await undone(stack, first);
  expect(await contents(stack.sql)).toEqual(after);
  const third = await undone(stack, second);
  expect(await contents(stack.sql)).toEqual(before);

  expect(
    await stack.sql`select id, to_json(undoes) as undoes, undone_by from changes where id = any(${[id, first, second, third]}) order by id`,
  ).toEqual([
    { id, undoes: null, undone_by: first },
    { id: first, undoes: [id], undone_by: null },
    { id: second, undoes: [first], undone_by: third },
    { id: third, undoes: [second], undone_by: null },
  ]);
}

describe("ops-undo", () => {
  it("takes back an edit of a contributor, field by field and element by element, and does it again", async () => {
    const { id, friend, aliases, descriptions, relations } = await aWholeContributor();
    const other = await aContributor(stack.sql);

    await expectUndone(() =>
      change("admin-contributors/edit", {
        path: { id },
        body: {
          first_name: `Renamed ${id}`,
          last_name: "Last",
          public: false,
          links: ["https://c.example", "https://d.example", "https://a.example"],
          added_aliases: ["Four", "Five"],
          removed_aliases: [aliases[0], aliases[2]],
          added_descriptions: [{ description: "Another", language: "French", source: "S" }],
          removed_descriptions: [descriptions[1]],
          modified_descriptions: [{ id: descriptions[0], description: "Longer", language: "German" }],
          added_relations: [{ relation_id: friend.id, relation_type: "colleague" }],
          removed_relations: [relations[1]],
          modified_relations: [{ id: relations[0], relation_id: other.id }],
        },
      }),
    );
  });

  it("takes back a merge patch", async () => {
    const { id } = await aWholeContributor();

    await expectUndone(() =>
      change("admin-contributors/edit", {
        path: { id },
        body: { gender: null, added_aliases: ["Patched"] },
        headers: { "Content-Type": "application/merge-patch+json" },
      }),
    );
  });

  it("brings a deleted contributor back with all that belonged to it", async () => {
    const { id } = await aWholeContributor();

    await expectUndone(() => change("admin-contributors/delete", { path: { id } }));
  });

  it("takes back the addition of a contributor", async () => {
    await expectUndone(() =>
      change("admin-contributors/add", { query: { client: 1 }, body: { first_name: "Added", last_name: "Here" } }),
    );
  });

  it("takes back the addition, the edit and the deletion of a role", async () => {
    const role = await aRole(stack.sql, "view-roles", "view-users");
    const [both, only] = [await aUser(stack.sql), await aUser(stack.sql)];
    await give(stack.sql, both, role, { id: await defaultRoleId(stack.sql) });
    await give(stack.sql, only, role);

    await expectUndone(() => change("admin-roles/add", { body: { name: "Added", description: "d" } }));
    await expectUndone(async () =>
      change("admin-roles/edit", {
        path: { id: role.id },
        body: {
          name: `${role.name} II`,
          description: "Other",
          added_permissions: [await permissionId(stack.sql, "edit-roles")],
          removed_permissions: [await permissionId(stack.sql, "view-roles")],
        },
      }),
    );
    await expectUndone(() => change("admin-roles/delete", { path: { id: role.id } }));
    expect(await roleIdsOf(stack.sql, only)).toEqual([role.id]);
  });

  it("takes back the addition, the edit and the deletion of a permission", async () => {
    const permission = await aPermission(stack.sql);
    const role = await aRole(stack.sql, "view-roles");
    await stack.sql`insert into role_permissions values (${role.id}, ${permission.id})`;

    await expectUndone(() => change("admin-permissions/add", { body: { name: "Added", description: "d" } }));
    await expectUndone(() =>
      change("admin-permissions/edit", {
        path: { id: permission.id },
        body: { name: `${permission.name} II`, description: "Other" },
      }),
    );
    await expectUndone(() => change("admin-permissions/delete", { path: { id: permission.id } }));
  });

  it("takes back an edit of a user", async () => {
    const [former, latter] = [await aRole(stack.sql), await aRole(stack.sql)];
    const user = await aUser(stack.sql);
    await give(stack.sql, user, former);
    const path = { id: user.id };
    const names = { username: `${user.username} II`, age_verified: true };

    await expectUndone(() =>
      change("admin-users/edit", { path, body: { ...names, added_roles: [latter.id], removed_roles: [former.id] } }),
    );
    await expectUndone(() =>
      change("admin-users/edit", { path, body: { username: user.username, removed_roles: [former.id] } }),
    );
  });
});

describe("ops-undo refuses", () => {
  it.each<[string, string, () => Promise<number>]>([
    [
      "the deletion of a user",
      "A deleted user is deleted for good",
      async () => change("admin-users/delete", { path: { id: (await aUser(stack.sql)).id } }),
    ],
    [
      "a log-out",
      "Sessions that were ended stay ended",
      async () => change("admin-users/logout", { path: { id: (await aUser(stack.sql)).id } }),
    ],
    [
      "the end of sessions by an operator",
      "Sessions that were ended stay ended",
      async () => {
        await stack.lambda.invoke("ops-end-sessions", { user: (await aUser(stack.sql)).id });
        return await latestChange(stack.sql);
      },
    ],
    [
      "the addition of a user",
      "Delete the user in the panel instead, which is for good",
      async () => {
        await stack.lambda.invoke("ops-create-user", { username: "Grace", roles: [] });
        return await latestChange(stack.sql);
      },
    ],
    [
      "a session for a user",
      "Log the user out instead",
      async () => {
        const { username } = await aUser(stack.sql);
        await stack.lambda.invoke("ops-issue-refresh-token", { username, days: 1 });
        return await latestChange(stack.sql);
      },
    ],
    [
      "a link to an identity",
      "Give or take the link by ops/link-identity instead",
      async () => {
        const { username } = await aUser(stack.sql);
        await stack.lambda.invoke("ops-link-identity", { username, issuer: "https://a.example", subject: username });
        return await latestChange(stack.sql);
      },
    ],
    ["a migration", "ops/migrate cannot be undone", async () => 1],
    [
      "an edit that changed nothing",
      "It changed nothing",
      async () => {
        const role = await aRole(stack.sql);
        return await change("admin-roles/edit", { path: { id: role.id }, body: { name: role.name } });
      },
    ],
    [
      "an edit of a user who was deleted since",
      "What it did is forgotten, since its user was deleted",
      async () => {
        const path = { id: (await aUser(stack.sql)).id };
        const id = await change("admin-users/edit", { path, body: { username: `Doomed ${path.id}` } });
        await change("admin-users/delete", { path });
        return id;
      },
    ],
    [
      "an edit of a contributor who was deleted since",
      " was deleted by change ",
      async () => {
        const path = { id: (await aContributor(stack.sql)).id };
        const id = await change("admin-contributors/edit", { path, body: { first_name: `Gone ${path.id}` } });
        await change("admin-contributors/delete", { path });
        return id;
      },
    ],
    [
      "a name that another contributor has now",
      " has the name now",
      async () => {
        const { id } = await aContributor(stack.sql, { first_name: "Taken", last_name: "Name" });
        const deletion = await change("admin-contributors/delete", { path: { id } });
        await change("admin-contributors/add", { body: { first_name: "TAKEN", last_name: "name" } });
        return deletion;
      },
    ],
    [
      "a username that somebody else has now",
      " has the name now",
      async () => {
        const user = await aUser(stack.sql);
        const edit = await change("admin-users/edit", {
          path: { id: user.id },
          body: { username: `Renamed ${user.id}` },
        });
        await aUser(stack.sql, user.username);
        return edit;
      },
    ],
    [
      "a deletion whose permission of this service has been restored",
      "was restored in its place by change",
      async () => {
        const id = await permissionId(stack.sql, "delete-roles");
        const deletion = await change("admin-permissions/delete", { path: { id } });
        await stack.sql`update permissions set name = name || '!' where id = ${id}`;
        await change("admin-permissions/add", { body: { name: "delete-roles", description: "d" } });
        return deletion;
      },
    ],
    [
      "what takes a permission of this service from the Administrator role",
      "The Administrator role would lose a permission of this service",
      async () => {
        await change("admin-permissions/delete", { path: { id: await permissionId(stack.sql, "delete-users") } });
        return await change("admin-permissions/add", { body: { name: "delete-users", description: "d" } });
      },
    ],
    [
      "what takes the last user from the Administrator role",
      "The Administrator role would lose its last user",
      async () => {
        const { id, username } = await aUser(stack.sql);
        const [role] = await stack.sql`select id from roles where key = 'administrator'`;
        const edit = await change("admin-users/edit", { path: { id }, body: { username, added_roles: [role?.id] } });
        await stack.sql`delete from user_roles where role_id = ${role?.id} and user_id <> ${id}`;
        return edit;
      },
    ],
    [
      "what gives a contributor more than 200 aliases",
      "would have 201 aliases",
      async () => {
        const { id, first_name, aliases } = await aWholeContributor();
        const body = { first_name, public: true, removed_aliases: aliases.slice(0, 1) };
        const edit = await change("admin-contributors/edit", { path: { id }, body });
        await stack.sql`
          insert into contributor_aliases (contributor_id, name) select ${id}, 'Many' from generate_series(1, 198)
        `;
        return edit;
      },
    ],
    [
      "what gives a contributor more than 100 relations, when somebody else comes back",
      "would have 101 relations",
      async () => {
        const { id, friend } = await aWholeContributor();
        const deletion = await change("admin-contributors/delete", { path: { id } });
        await stack.sql`
          insert into contributor_relations (contributor_id, relation_id, relation_type)
          select ${friend.id}, ${(await aContributor(stack.sql)).id}, 'many' from generate_series(1, 100)
        `;
        return deletion;
      },
    ],
    [
      "what gives a user more than 200 roles",
      "would have 201 roles",
      async () => {
        const [user, role] = [await aUser(stack.sql), await aRole(stack.sql)];
        await give(stack.sql, user, role);
        const deletion = await change("admin-roles/delete", { path: { id: role.id } });
        await stack.sql`
          with made as (insert into roles (name) select gen_random_uuid() from generate_series(1, 200) returning id)
          insert into user_roles (user_id, role_id) select ${user.id}, id from made
        `;
        return deletion;
      },
    ],
    [
      "what gives a role more than 500 permissions",
      "would have 501 permissions",
      async () => {
        const [role, permission] = [await aRole(stack.sql), await aPermission(stack.sql)];
        await stack.sql`insert into role_permissions values (${role.id}, ${permission.id})`;
        const deletion = await change("admin-permissions/delete", { path: { id: permission.id } });
        await stack.sql`
          with made as (insert into permissions (name) select gen_random_uuid() from generate_series(1, 500) returning id)
          insert into role_permissions (role_id, permission_id) select ${role.id}, id from made
        `;
        return deletion;
      },
    ],
    [
      "a deletion of what is there again",
      "again, by another program",
      async () => {
        const { id } = await aContributor(stack.sql);
        const deletion = await change("admin-contributors/delete", { path: { id } });
        await stack.sql`
          insert into contributors (id, first_name, slug) overriding system value values (${id}, 'Again', 'again')
        `;
        return deletion;
      },
    ],
    [
      "a deletion whose client is gone",
      "Client 77 was deleted by another program",
      async () => {
        await stack.sql`insert into clients values (77, 'Gone')`;
        const { id } = await aContributor(stack.sql, { client_id: 77 });
        const deletion = await change("admin-contributors/delete", { path: { id } });
        await stack.sql`delete from clients where id = 77`;
        return deletion;
      },
    ],
    [
      "what it has undone",
      "It was undone by change",
      async () => {
        const id = await change("admin-roles/add", { body: { name: "Undone", description: "d" } });
        await undone(stack, id);
        return id;
      },
    ],
  ])("%s, also with force", async (_, reason, make) => {
    const id = await make();
    const before = await contents(stack.sql);
    const ledger = await stack.sql`select * from changes order by id`;

    for (const force of [false, true]) {
      const answer = await undo(stack, { change: id, force });
      expect(answer).toMatchObject({ undone: [], refused: [{ change: id, reason: expect.stringContaining(reason) }] });
      expect(answer.change).toBeUndefined();
    }

    expect(await contents(stack.sql)).toEqual(before);
    expect(await stack.sql`select * from changes order by id`).toEqual(ledger);
    await anAdministratorAgain();
  });

  const takeDown = (kind: string, id: number) => stack.sql`
    update changes
    set asked = '{}', before = null, answer = null
    where
      record_id = ${id} and endpoint like ${`admin-${kind}s/%`} or records @> array[${`${kind}/${id}`}]
  `;

  it("what the owner has emptied in the ledger, and nothing else with it", async () => {
    const { id } = await aWholeContributor();
    const path = { id };
    const editor = await holderOf(stack.sql, "add-contributors", "edit-contributors", "delete-contributors");
    const edit = await change(
      "admin-contributors/edit",
      { path, body: { first_name: `Taken down ${id}` } },
      editor.token,
    );
    const deletion = await change("admin-contributors/delete", { path }, editor.token);
    const undoing = await undone(stack, deletion);
    const again = await change("admin-contributors/delete", { path }, editor.token);
    const other = await change("admin-contributors/add", { body: { first_name: `Other ${id}` } }, editor.token);
    await takeDown("contributor", id);

    const reason = "The ledger does not say any more what it did";
    for (const emptied of [edit, undoing, again]) {
      expect(await undo(stack, { change: emptied, force: true })).toMatchObject({
        undone: [],
        refused: [{ change: emptied, reason }],
      });
    }
    expect(
      await undo(stack, { user: editor.id, from: "2026-01-01T00:00:00Z", to: "2126-01-01T00:00:00Z" }),
    ).toMatchObject({ undone: [{ change: other }], refused: [again, edit].map((emptied) => ({ change: emptied })) });
  });

  it("no change of another kind of record with the same id as one that was emptied", async () => {
    const role = await aRole(stack.sql);
    const { id } = role;
    const edit = await change("admin-roles/edit", { path: { id }, body: { name: `Same id ${id}` } });
    await stack.sql`
      insert into changes (key, request_id, endpoint, record_id, asked)
      values (${`emptied ${id}`}, '', 'admin-contributors/edit', ${id}, '{}')
    `;
    await undone(stack, edit);
  });

  it("a name that somebody has, and says who, by which change", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Named", last_name: null });
    const deletion = await change("admin-contributors/delete", { path: { id } });
    const holder = await aContributor(stack.sql, { first_name: "NAMED", last_name: null });
    const person = await aUser(stack.sql);
    const renaming = await change("admin-users/edit", {
      path: { id: person.id },
      body: { username: `Re ${person.id}` },
    });
    const user = await aUser(stack.sql);
    const taking = await change("admin-users/edit", { path: { id: user.id }, body: { username: person.username } });
    await change("admin-users/edit", {
      path: { id: user.id },
      body: { username: person.username, age_verified: true },
    });
    const role = await aRole(stack.sql);
    const ofRole = await change("admin-roles/delete", { path: { id: role.id } });
    const newRole = await change("admin-roles/add", { body: { name: role.name, description: "d" } });
    const [roleHolder] = await stack.sql`select id from roles where name = ${role.name}`;
    const permission = await aPermission(stack.sql);
    const ofPermission = await change("admin-permissions/delete", { path: { id: permission.id } });
    const newPermission = await change("admin-permissions/add", { body: { name: permission.name, description: "d" } });
    const [permissionHolder] = await stack.sql`select id from permissions where name = ${permission.name}`;

    for (const [refused, who, by] of [
      [deletion, `Contributor ${holder.id}`, "another program"],
      [renaming, `User ${user.id}`, `change ${taking}`],
      [ofRole, `Role ${roleHolder?.id}`, `change ${newRole}`],
      [ofPermission, `Permission ${permissionHolder?.id}`, `change ${newPermission}`],
    ] as const) {
      expect((await undo(stack, { change: refused, force: true })).refused).toMatchObject([
        { change: refused, reason: `${who} has the name now, by ${by}, rename that first` },
      ]);
    }
  });

  it("a name that another contributor got by an edit of the other half", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Half", last_name: "Name" });
    const path = { id };
    const first = await change("admin-contributors/edit", { path, body: { first_name: "Whole" } });
    const other = await aContributor(stack.sql, { first_name: "Half", last_name: "Other" });
    const later = await change("admin-contributors/edit", {
      path: { id: other.id },
      body: { first_name: "Half", last_name: "Name" },
    });

    expect((await undo(stack, { change: first, force: true })).refused).toMatchObject([
      { reason: `Contributor ${other.id} has the name now, by change ${later}, rename that first` },
    ]);
  });

  it("a permission of this service that a migration has restored", async () => {
    const id = await permissionId(stack.sql, "view-permissions");
    const deletion = await change("admin-permissions/delete", { path: { id } });
    await stack.lambda.invoke("ops-migrate", {});
    const migration = await latestChange(stack.sql);

    expect((await undo(stack, { change: deletion, force: true })).refused).toMatchObject([
      {
        reason: `Permission ${await permissionId(stack.sql, "view-permissions")} was restored in its place by change ${migration}, delete that first`,
      },
    ]);
  });

  it("to make a role the default role while there is another one", async () => {
    const role = await aRole(stack.sql);
    const id = await change("admin-roles/delete", { path: { id: role.id } });
    await stack.sql`
      update changes set before = jsonb_set(before::jsonb, '{role,is_default}', '1')::json where id = ${id}
    `;

    expect((await undo(stack, { change: id })).refused).toMatchObject([
      { reason: `Role ${await defaultRoleId(stack.sql)} is the default role now, by another program` },
    ]);
  });

  it("a change that does not exist, as an error", async () => {
    const before = await contents(stack.sql);

    for (const more of [{}, { force: true }, { dryRun: true }]) {
      await expect(undo(stack, { change: 987_654, ...more })).rejects.toThrow("There is no change 987654");
    }

    expect(await contents(stack.sql)).toEqual(before);
    expect(await stack.sql`select from changes where endpoint = 'ops/undo' and asked ->> 'change' = '987654'`).toEqual(
      [],
    );
  });

  it.each([
    {},
    { change: 0 },
    { change: 1, user: 1 },
    { user: 1, from: "2026-01-01T00:00:00Z" },
    { user: 1, from: "yesterday", to: "2026-01-01T00:00:00Z" },
    { user: "Nobody", from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z" },
    { change: 1, forse: true },
  ])("%o", async (payload) => {
    expect(await stack.lambda.invoke("ops-undo", payload)).toHaveProperty("error");
  });
});

describe("ops-undo finds what was changed again since", () => {
  const edit = (id: number, body: object) => change("admin-contributors/edit", { path: { id }, body });
  const patch = (id: number, body: object) =>
    change("admin-contributors/edit", {
      path: { id },
      body,
      headers: { "Content-Type": "application/merge-patch+json" },
    });
  const byAdministrator = (id: number, endpoint = "admin-contributors/edit") => ({
    change: id,
    endpoint,
    at: expect.any(String),
    userId: administrator.id,
    username: administrator.username,
  });

  it("a field, even if it has the same value again, and names the newest change of it", async () => {
    const { id } = await aContributor(stack.sql, { gender: "a" });
    const first = await patch(id, { gender: "b" });
    await patch(id, { gender: "c" });
    const last = await patch(id, { gender: "b", type: "other" });
    const before = await contents(stack.sql);

    expect(await undo(stack, { change: first })).toEqual({
      undone: [],
      conflicts: [
        { change: first, record: `contributor/${id}`, field: "gender", now: "b", later: byAdministrator(last) },
      ],
      refused: [],
      isDone: true,
    });
    expect(await contents(stack.sql)).toEqual(before);
  });

  it("by another program, which nobody can name", async () => {
    const { id } = await aContributor(stack.sql, { gender: "a" });
    const first = await patch(id, { gender: "b", public: false });
    await stack.sql`update contributors set gender = 'c' where id = ${id}`;

    expect((await undo(stack, { change: first })).conflicts).toEqual([
      { change: first, record: `contributor/${id}`, field: "gender", now: "c", later: null },
    ]);
  });

  it("each element and all links, but nothing else", async () => {
    const { id, first_name, aliases, descriptions, relations, friend } = await aWholeContributor();
    const first = await edit(id, {
      first_name,
      public: true,
      type: "other",
      links: ["https://b.example"],
      added_aliases: ["Four", "Five"],
      removed_aliases: [aliases[0]],
      modified_descriptions: [{ id: descriptions[0], description: "Longer" }],
      modified_relations: [{ id: relations[0], relation_type: "other" }],
    });
    const [, , four, five] = await idsOf("aliases", { id });
    const second = await edit(id, {
      first_name,
      public: true,
      type: "other",
      links: [],
      added_aliases: ["Six"],
      removed_aliases: [four],
      modified_descriptions: [{ id: descriptions[0], language: "German" }],
      removed_relations: [relations[0]],
    });
    await stack.sql`update contributor_aliases set name = 'Renamed' where id = ${five}`;

    const { conflicts } = await undo(stack, { change: first });

    const later = byAdministrator(second);
    const common = { change: first, record: `contributor/${id}` };
    expect(conflicts).toEqual([
      { ...common, field: `aliases/${four}`, now: null, later },
      { ...common, field: `aliases/${five}`, now: { id: five, name: "Renamed" }, later: null },
      {
        ...common,
        field: `descriptions/${descriptions[0]}`,
        now: expect.objectContaining({ language: "German", description: "Longer" }),
        later,
      },
      { ...common, field: "links", now: [], later },
      { ...common, field: `relations/${relations[0]}`, now: null, later },
    ]);
    expect(friend.id).not.toBe(id);
  });

  it("a field of the same edit no more when the later change was undone", async () => {
    const { id } = await aContributor(stack.sql, { gender: "a" });
    const first = await patch(id, { gender: "b" });
    const second = await patch(id, { gender: "c" });

    const undoing = await undone(stack, second);
    const first_ = await undone(stack, first);
    await undone(stack, first_);
    await undone(stack, undoing);

    expect((await undo(stack, { change: first })).conflicts).toMatchObject([{ later: { change: second } }]);
  });

  it("of an addition all that was added to it, and all that leads to it", async () => {
    const friend = await aContributor(stack.sql);
    const added = await change("admin-contributors/add", { body: { first_name: "Since" } });
    const [{ record_id: id } = {}] = await stack.sql`select record_id from changes where id = ${added}`;
    await aSeries(stack.sql, { by: { id, slug: "" } }, { name: "Since" });
    const related = await edit(friend.id, {
      first_name: "Friend",
      added_relations: [{ relation_id: id, relation_type: "friend" }],
    });
    const [relation] = await idsOf("relations", friend);
    const edited = await edit(id, { first_name: "Since then", added_aliases: ["Alias"] });

    expect((await undo(stack, { change: added })).conflicts).toMatchObject([
      { record: `contributor/${friend.id}`, field: `relations/${relation}`, later: { change: related } },
      { record: `contributor/${id}`, field: expect.stringMatching(/^aliases/), later: { change: edited } },
      { record: `contributor/${id}`, field: "first_name", now: "Since then", later: { change: edited } },
      { record: `contributor/${id}`, field: expect.stringMatching(/^series/), later: null },
    ]);

    const before = await contents(stack.sql);
    const forced = await undo(stack, { change: added, force: true });
    expect(forced.undone[0]?.overridden).toHaveLength(4);
    expect(await stack.sql`select from contributors where id = ${id}`).toEqual([]);
    await undone(stack, forced.change ?? 0);
    expect(await contents(stack.sql)).toEqual(before);
  });

  it("of an added role its users, of an added permission its roles", async () => {
    const role = await change("admin-roles/add", { body: { name: "With users", description: "d" } });
    const permission = await change("admin-permissions/add", { body: { name: "With roles", description: "d" } });
    const idOf = async (row: number) =>
      (await stack.sql`select record_id from changes where id = ${row}`)[0]?.record_id;
    const [roleId, permissionId] = [await idOf(role), await idOf(permission)];
    const { id, username } = await aUser(stack.sql);
    const given = await change("admin-users/edit", { path: { id }, body: { username, added_roles: [roleId] } });
    const granted = await change("admin-roles/edit", {
      path: { id: roleId },
      body: { name: "With users", added_permissions: [permissionId] },
    });

    expect((await undo(stack, { change: role })).conflicts).toMatchObject([
      { record: `role/${roleId}`, field: `permissions/${permissionId}`, later: { change: granted } },
      { record: `user/${id}`, field: `roles/${roleId}`, later: { change: given } },
    ]);
    expect((await undo(stack, { change: permission })).conflicts).toMatchObject([
      { record: `role/${roleId}`, field: `permissions/${permissionId}`, later: { change: granted } },
    ]);
  });

  it("relations to a contributor who was deleted since, which force leaves out and names", async () => {
    const { id, friend, relations } = await aWholeContributor();
    const deletion = await change("admin-contributors/delete", { path: { id } });
    const later = await change("admin-contributors/delete", { path: { id: friend.id } });

    const { conflicts } = await undo(stack, { change: deletion });
    expect(conflicts).toMatchObject([
      ...relations.map((relation) => ({
        record: `contributor/${id}`,
        field: `relations/${relation}`,
        later: { change: later },
      })),
      { record: `contributor/${friend.id}`, field: expect.stringMatching(/^relations/), later: { change: later } },
    ]);

    const forced = await undo(stack, { change: deletion, force: true });
    expect(forced.undone[0]?.leftOut).toHaveLength(3);
    expect(forced.undone[0]?.leftOut[0]).toEqual({
      record: `contributor/${id}`,
      field: `relations/${relations[0]}`,
      reason: `Contributor ${friend.id} is gone`,
    });
    expect(await idsOf("aliases", { id })).toHaveLength(3);
    expect(await idsOf("relations", { id })).toEqual([]);
  });

  it("a slug that another contributor has, and makes another one with force", async () => {
    const { id, slug, first_name } = await aWholeContributor();
    const deletion = await change("admin-contributors/delete", { path: { id } });
    const later = await change("admin-contributors/add", { body: { first_name: slug } });
    const [{ id: holder } = {}] = await stack.sql`select id from contributors where slug = ${slug}`;
    const before = await contents(stack.sql);
    const reason = `Contributor ${holder} has ${slug} now, so it is ${slug}-2`;

    expect(await undo(stack, { change: deletion })).toMatchObject({
      undone: [],
      conflicts: [
        {
          record: `contributor/${id}`,
          field: "slug",
          now: null,
          reason,
          later: { change: later, userId: administrator.id },
        },
      ],
      refused: [],
    });
    expect(await contents(stack.sql)).toEqual(before);

    const forced = await undo(stack, { change: deletion, force: true });
    expect(forced.undone).toMatchObject([
      {
        overridden: [{ field: "slug", later: { change: later } }],
        leftOut: [{ record: `contributor/${id}`, field: "slug", reason }],
      },
    ]);
    expect(await stack.sql`select first_name, slug from contributors where id = ${id}`).toEqual([
      { first_name, slug: `${slug}-2` },
    ]);
    expect(await idsOf("aliases", { id })).toHaveLength(3);
    await undone(stack, forced.change ?? 0);
    expect(await contents(stack.sql)).toEqual(before);
  });

  it("a slug that another program has given away", async () => {
    const { id, slug } = await aContributor(stack.sql);
    const deletion = await change("admin-contributors/delete", { path: { id } });
    await aContributor(stack.sql, { slug });

    expect((await undo(stack, { change: deletion })).conflicts).toMatchObject([{ field: "slug", later: null }]);
  });

  it("whoever else a merge changed, who was deleted since, and is left out with force", async () => {
    const [kept, merged] = [await aContributor(stack.sql), await aContributor(stack.sql)];
    const friend = await aContributor(stack.sql);
    await edit(friend.id, {
      first_name: `Friend ${friend.id}`,
      added_relations: [{ relation_id: merged.id, relation_type: "friend" }],
    });
    await stack.lambda.invoke("ops-merge-contributors", { keep: kept.id, merge: [merged.id] });
    const merge = await latestChange(stack.sql);
    const later = await change("admin-contributors/delete", { path: { id: friend.id } });
    const before = await contents(stack.sql);
    const gone = { record: `contributor/${friend.id}`, field: "*", reason: `Contributor ${friend.id} was deleted` };

    expect(await undo(stack, { change: merge })).toMatchObject({
      undone: [],
      conflicts: [{ ...gone, later: { change: later } }],
      refused: [],
    });
    expect(await contents(stack.sql)).toEqual(before);
    const forced = await undo(stack, { change: merge, force: true });
    expect(forced.undone).toMatchObject([{ leftOut: [gone], overridden: [{ later: { change: later } }] }]);
    expect(await stack.sql`select slug from contributors where id = ${merged.id}`).toEqual([{ slug: merged.slug }]);
    await undone(stack, forced.change ?? 0);
    expect(await contents(stack.sql)).toEqual(before);
  });

  it("an external id that another contributor has, or whose slug it has, which force leaves out", async () => {
    const [one, two] = [
      await aContributor(stack.sql, { external_id: "of-both" }),
      await aContributor(stack.sql, { external_id: "slug:said", slug: "said" }),
    ];
    const first = await change("admin-contributors/delete", { path: { id: one.id } });
    const second = await change("admin-contributors/delete", { path: { id: two.id } });
    const other = await aContributor(stack.sql, { external_id: "of-both", slug: "said" });
    const reason = (value: string) => `Contributor ${other.id} has ${value} now`;

    expect((await undo(stack, { change: first })).conflicts).toMatchObject([
      { record: `contributor/${one.id}`, field: "external_id", reason: reason("of-both"), later: null },
    ]);
    expect((await undo(stack, { change: second })).conflicts).toMatchObject([
      { field: "slug", reason: `${reason("said")}, so it is said-2` },
      { field: "external_id", reason: reason("slug:said") },
    ]);
    for (const deletion of [first, second]) await undo(stack, { change: deletion, force: true });
    expect(
      await stack.sql`select slug, external_id from contributors where id = any(${[one.id, two.id]}) order by id`,
    ).toEqual([
      { slug: one.slug, external_id: null },
      { slug: "said-2", external_id: null },
    ]);
  });

  it("a slug that leads to another contributor since a merge, and leaves it there with force", async () => {
    const { id, slug } = await aContributor(stack.sql);
    const deletion = await change("admin-contributors/delete", { path: { id } });
    await aContributor(stack.sql, { slug });
    const [{ id: merged } = {}] = await stack.sql`select id from contributors where slug = ${slug}`;
    const kept = await aContributor(stack.sql);
    await stack.lambda.invoke("ops-merge-contributors", { keep: kept.id, merge: [merged] });
    const merge = await latestChange(stack.sql);
    await change("admin-contributors/edit", { path: { id: kept.id }, body: { first_name: `Kept ${kept.id}` } });
    const before = await contents(stack.sql);

    expect((await undo(stack, { change: deletion })).conflicts).toMatchObject([
      {
        field: "slug",
        reason: expect.stringContaining(`Contributor ${kept.id} has ${slug} now`),
        later: { change: merge },
      },
    ]);
    const forced = await undo(stack, { change: deletion, force: true });
    expect(await stack.sql`select slug from contributors where id = ${id}`).toEqual([{ slug: `${slug}-2` }]);
    expect(await stack.sql`select contributor_id from former_slugs where slug = ${slug}`).toEqual([
      { contributor_id: kept.id },
    ]);
    await undone(stack, forced.change ?? 0);
    expect(await contents(stack.sql)).toEqual(before);
    await undone(stack, merge);
  });

  it("former slugs that another contributor has, which force leaves out and names", async () => {
    const [kept, merged] = [await aContributor(stack.sql), await aContributor(stack.sql)];
    await stack.lambda.invoke("ops-merge-contributors", { keep: kept.id, merge: [merged.id] });
    const deletion = await change("admin-contributors/delete", { path: { id: kept.id } });
    const later = await change("admin-contributors/add", { body: { first_name: merged.slug } });
    const [{ id: holder } = {}] = await stack.sql`select id from contributors where slug = ${merged.slug}`;
    const left = { record: `contributor/${kept.id}`, field: `slugs/${merged.slug}` };
    const reason = `Contributor ${holder} has ${merged.slug} now`;

    expect((await undo(stack, { change: deletion })).conflicts).toMatchObject([
      { ...left, reason, later: { change: later } },
    ]);
    expect((await undo(stack, { change: deletion, force: true })).undone).toMatchObject([
      { leftOut: [{ ...left, reason }] },
    ]);
    expect(await stack.sql`select slug from contributors where id = ${kept.id}`).toEqual([{ slug: kept.slug }]);
  });

  it("a former slug that another contributor has when a merge is done again, which force leaves out", async () => {
    const [kept, merged] = [await aContributor(stack.sql), await aContributor(stack.sql)];
    await stack.lambda.invoke("ops-merge-contributors", { keep: kept.id, merge: [merged.id] });
    const undoing = await undone(stack, await latestChange(stack.sql));
    await stack.sql`update contributors set slug = slug || '-moved' where id = ${merged.id}`;
    const later = await change("admin-contributors/add", { body: { first_name: merged.slug } });

    const left = { record: `contributor/${kept.id}`, field: `slugs/${merged.slug}` };
    const { conflicts } = await undo(stack, { change: undoing });
    expect(conflicts).toContainEqual(
      expect.objectContaining({ ...left, later: expect.objectContaining({ change: later }) }),
    );
    const forced = await undo(stack, { change: undoing, force: true });
    expect(forced.undone[0]?.leftOut).toMatchObject([left]);
    expect(await stack.sql`select from contributors where id = ${merged.id}`).toEqual([]);
  });

  it("a role that a user had, a permission that a role had, and that were deleted since", async () => {
    const [role, permission] = [await aRole(stack.sql), await aPermission(stack.sql)];
    const { id, username } = await aUser(stack.sql);
    await give(stack.sql, { id }, role, { id: await defaultRoleId(stack.sql) });
    await stack.sql`insert into role_permissions values (${role.id}, ${permission.id})`;
    const taken = await change("admin-users/edit", { path: { id }, body: { username, removed_roles: [role.id] } });
    const deletion = await change("admin-roles/delete", { path: { id: role.id } });
    const later = await change("admin-permissions/delete", { path: { id: permission.id } });

    expect((await undo(stack, { change: taken })).conflicts).toMatchObject([
      {
        record: `user/${id}`,
        field: `roles/${role.id}`,
        reason: `Role ${role.id} is gone`,
        later: { change: deletion },
      },
    ]);
    expect((await undo(stack, { change: deletion })).conflicts).toMatchObject([
      { record: `role/${role.id}`, field: `permissions/${permission.id}`, later: { change: later } },
    ]);
    const forced = await undo(stack, { change: deletion, force: true });
    expect(forced.undone).toMatchObject([{ leftOut: [{ reason: `Permission ${permission.id} is gone` }] }]);
  });

  it("no deleted users of a role, which are left out and named", async () => {
    const role = await aRole(stack.sql);
    const [gone, stays] = [await aUser(stack.sql), await aUser(stack.sql)];
    await give(stack.sql, gone, role);
    await give(stack.sql, stays, role);
    const deletion = await change("admin-roles/delete", { path: { id: role.id } });
    await change("admin-users/delete", { path: { id: gone.id } });

    expect(await undo(stack, { change: deletion })).toMatchObject({
      undone: [
        { leftOut: [{ record: `user/${gone.id}`, field: `roles/${role.id}`, reason: `User ${gone.id} is gone` }] },
      ],
      conflicts: [],
    });
    expect(await roleIdsOf(stack.sql, stays)).toEqual([role.id]);
  });

  it("no default role that somebody has been given since", async () => {
    const role = await aRole(stack.sql);
    const basic = await defaultRoleId(stack.sql);
    const { id, username } = await aUser(stack.sql);
    await give(stack.sql, { id }, role);
    const deletion = await change("admin-roles/delete", { path: { id: role.id } });
    const other = await aRole(stack.sql);
    const path = { id };
    await change("admin-users/edit", {
      path,
      body: { username, added_roles: [other.id], removed_roles: [basic] },
    });
    await change("admin-users/edit", { path, body: { username, added_roles: [basic] } });

    await undone(stack, deletion);

    expect(await roleIdsOf(stack.sql, { id })).toEqual([basic, role.id, other.id].toSorted((one, two) => one - two));
  });

  it("and undoes it with force, which can be undone in its turn", async () => {
    const { id } = await aContributor(stack.sql, { gender: "a", type: "a" });
    const first = await patch(id, { gender: "b", type: "b" });
    const second = await patch(id, { gender: "c" });
    const before = await contents(stack.sql);

    const forced = await undo(stack, { change: first, force: true });

    expect(forced.undone).toMatchObject([
      { change: first, overridden: [{ field: "gender", later: { change: second } }] },
    ]);
    expect(await stack.sql`select gender, type from contributors where id = ${id}`).toEqual([
      { gender: "a", type: "a" },
    ]);
    await undone(stack, forced.change ?? 0);
    expect(await contents(stack.sql)).toEqual(before);
  });
});

describe("ops-undo of a user's changes in a time", () => {
  const hour = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const range = { from: hour(-1), to: hour(1) };

  it("takes back what can be, in one row, and names what cannot, and can be undone", async () => {
    const editor = await holderOf(stack.sql, "add-roles", "edit-roles", "edit-users");
    const before = await contents(stack.sql);
    const [one, two, other] = [await aRole(stack.sql), await aRole(stack.sql), await aUser(stack.sql)];
    const start = await contents(stack.sql);
    const rename = (role: { id: number }, name: string, as = editor.token) =>
      change("admin-roles/edit", { path: { id: role.id }, body: { name } }, as);
    const first = await rename(one, "One more");
    const second = await rename(two, "Two more");
    const third = await rename(one, "One again");
    const logout = await change("admin-users/logout", { path: { id: other.id } }, editor.token);
    await rename(one, "One again");
    for (const endpoint of ["sign-in/callback", "sign-out"]) {
      await stack.sql`
        insert into changes (key, request_id, endpoint, caller_id, record_id)
        values (${endpoint}, '', ${endpoint}, ${editor.id}, ${editor.id})
      `;
    }
    const deleted = await aUser(stack.sql);
    const forgotten = await change(
      "admin-users/edit",
      { path: { id: deleted.id }, body: { username: `Forgotten ${deleted.id}` } },
      editor.token,
    );
    await change("admin-users/delete", { path: { id: deleted.id } });
    const byAnother = await rename(two, "Two by another", administrator.token);
    const after = await contents(stack.sql);
    const payload = { user: editor.username.toUpperCase(), ...range, reason: "A mistake", by: "ada" };

    const answer = await undo(stack, payload);

    expect(answer).toMatchObject({
      change: expect.any(Number),
      undone: [third, first].map((id) => ({ change: id, undoneBy: answer.change, userId: editor.id })),
      conflicts: [{ change: second, field: "name", later: { change: byAnother } }],
      refused: [
        { change: forgotten, reason: "What it did is forgotten, since its user was deleted" },
        { change: logout, reason: "Sessions that were ended stay ended" },
      ],
      isDone: true,
    });
    expect(await stack.sql`select asked, to_json(undoes) as undoes from changes where id = ${answer.change}`).toEqual([
      {
        asked: { user: editor.id, ...range, force: false, dryRun: false, reason: "A mistake", by: "ada" },
        undoes: [third, first],
      },
    ]);
    expect((await undo(stack, payload)).undone).toEqual([]);
    await undone(stack, answer.change ?? 0);
    expect(await contents(stack.sql)).toEqual(after);
    expect((await undo(stack, { ...payload, force: true })).undone).toHaveLength(3);
    expect(await contents(stack.sql)).toEqual(start);
    expect(start).not.toEqual(before);
  });

  it("takes back hundreds, a hundred in a row, and tells all of them in a dry run", async () => {
    const editor = await holderOf(stack.sql, "edit-roles");
    const role = await aRole(stack.sql);
    const before = await contents(stack.sql);
    await stack.sql`
      insert into changes (key, request_id, endpoint, caller_id, username, record_id, asked, before)
      select
        'many ' || number, '', 'admin-roles/edit', ${editor.id}, ${editor.username}, ${role.id},
        json_build_object('name', ${role.name} || number),
        json_build_object('name', ${role.name} || case number when 1 then '' else (number - 1)::text end)
      from generate_series(1, 300) as number
    `;
    await stack.sql`update roles set name = name || 300 where id = ${role.id}`;

    const dry = await undo(stack, { user: editor.id, ...range, dryRun: true });
    const answer = await undo(stack, { user: editor.id, ...range });

    expect(dry.undone).toHaveLength(300);
    expect(dry.conflicts).toEqual([]);
    expect(answer.undone).toHaveLength(300);
    expect(answer.conflicts).toEqual([]);
    expect(new Set(answer.undone.map(({ undoneBy }) => undoneBy)).size).toBe(3);
    expect(await contents(stack.sql)).toEqual(before);
  });

  it("refuses a user whom nobody knows, and a time that ends before it begins, or has not begun", async () => {
    await expect(undo(stack, { user: 987_654, ...range })).rejects.toThrow("There is no user 987654");
    await expect(undo(stack, { user: administrator.id, from: range.to, to: range.from })).rejects.toThrow(
      "Invalid payload: to: It is not after `from`",
    );
    await expect(undo(stack, { user: administrator.id, from: hour(24), to: hour(25) })).rejects.toThrow(
      "Invalid payload: from: It is in the future",
    );
  });

  it("knows a deleted user by the id", async () => {
    const editor = await holderOf(stack.sql, "add-roles");
    const role = await change("admin-roles/add", { body: { name: `By ${editor.id}`, description: "d" } }, editor.token);
    await change("admin-users/delete", { path: { id: editor.id } });
    expect((await undo(stack, { user: editor.id, ...range })).undone).toMatchObject([{ change: role }]);
  });

  it("refuses a dry run of too many, and an ambiguous name", async () => {
    const editor = await holderOf(stack.sql, "edit-roles");
    await stack.sql`
      insert into changes (key, request_id, endpoint, caller_id, username, record_id, asked)
      select 'too many ' || number, '', 'admin-roles/edit', ${editor.id}, ${administrator.username}, 1, '{"name": ""}'
      from generate_series(1, 301) as number
    `;

    await expect(undo(stack, { user: editor.id, ...range, dryRun: true })).rejects.toThrow("narrow the time");
    await expect(undo(stack, { user: administrator.username, ...range })).rejects.toThrow("Several users");
  });
});

describe("ops-undo", () => {
  const everything = async () => {
    const names = await stack.sql<{ name: string }[]>`
      select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'
    `;
    return await Promise.all(
      names.map(async ({ name }) => [
        name,
        await stack.sql`select to_jsonb(${identifier(name)})::text as row from ${identifier(name)} order by 1`,
      ]),
    );
  };

  it("says in a dry run what it would do, and writes nothing", async () => {
    const { id } = await aWholeContributor();
    const deletion = await change("admin-contributors/delete", { path: { id } });
    const before = await everything();

    const dry = await undo(stack, { change: deletion, dryRun: true });

    expect(await everything()).toEqual(before);
    expect(dry.change).toBeUndefined();
    expect((await undo(stack, { change: deletion })).undone).toEqual(
      dry.undone.map((each) => ({ ...each, undoneBy: expect.any(Number) })),
    );
  });

  it("is done once when its answer is lost", async () => {
    const role = await aRole(stack.sql);
    const id = await change("admin-roles/edit", { path: { id: role.id }, body: { name: "Lost" } });
    let calls = 0;
    stack.dataApi.intercept(({ sql }) =>
      sql?.includes("undo_changes") && calls++ === 0 ? { kind: "drop-after" } : undefined,
    );

    const row = await undone(stack, id);
    stack.dataApi.intercept(undefined);

    expect(calls).toBe(2);
    expect(await stack.sql`select id from changes where endpoint = 'ops/undo' and ${id} = any(undoes)`).toEqual([
      { id: row },
    ]);
  });

  it("is done as a whole or not at all when the database kills its session in the middle", async () => {
    const { id } = await aWholeContributor();
    const deletion = await change("admin-contributors/delete", { path: { id } });
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
    const superuser = openDatabase(`${inject("databaseUrl")}/postgres`, { max: 1 });
    const waiting = () => superuser<{ pid: number }[]>`
      select pid from pg_locks where locktype = 'advisory' and objid = 4711 and not granted
    `;
    const { invocation } = await stack.sql.begin(async (sql) => {
      await sql`select pg_advisory_xact_lock(4711)`;
      const invocation = stack.lambda.invoke("ops-undo", { change: deletion });
      await expect.poll(waiting).toHaveLength(1);
      const [{ pid = 0 } = {}] = await waiting();
      await superuser`select pg_terminate_backend(${pid})`;
      // It is sent again, by another session.
      await expect.poll(async () => (await waiting()).filter((each) => each.pid !== pid)).toHaveLength(1);
      expect(await stack.sql`select from contributors where id = ${id}`).toEqual([]);
      return { invocation };
    });

    expect(await invocation).toMatchObject({ result: { undone: [{ change: deletion }] } });
    await superuser.end();
    await stack.sql`drop function wait_in_the_middle cascade`;

    expect(await stack.sql`select from changes where endpoint = 'ops/undo' and ${deletion} = any(undoes)`).toHaveLength(
      1,
    );
    expect(await idsOf("aliases", { id })).toHaveLength(3);
    expect(await stack.sql`select from contributor_links where contributor_id = ${id}`).toHaveLength(3);
  });

  it("makes stale what the public reads", async () => {
    const { id, slug } = await aWholeContributor();
    const deletion = await change("admin-contributors/delete", { path: { id } });
    await stack.sql`delete from stale_tags`;

    expect((await stack.call("contributor/slug", { path: { slug }, query: { client: 1 } })).status).toBe(404);
    await undone(stack, deletion);

    expect((await stack.sql`select distinct tag from stale_tags`).map(({ tag }) => tag)).toEqual(
      expect.arrayContaining([`contributor-${id}`, "contributors", "series"]),
    );
    expect((await stack.call("contributor/slug", { path: { slug }, query: { client: 1 } })).status).toBe(200);
  });

  it("brings a contributor back whose deletion was recorded without its place in random picks", async () => {
    const { id } = await aContributor(stack.sql);
    const deletion = await change("admin-contributors/delete", { path: { id } });
    await stack.sql`update changes set before = (before::jsonb - 'random_key')::json where id = ${deletion}`;

    await undone(stack, deletion);

    expect(await stack.sql`select random_key between 0 and 1 as is_there from contributors where id = ${id}`).toEqual([
      { is_there: true },
    ]);
  });

  it("leaves only ids of a user who is deleted later, also where it failed to undo something of theirs", async () => {
    const { id, username } = await aUser(stack.sql);
    const rename = (name: string) => change("admin-users/edit", { path: { id }, body: { username: name } });
    const undoing = await undone(stack, await rename("Doomed II"));
    const edit = await rename("Doomed III");
    await rename("Doomed IV");
    const role = await change("admin-roles/add", { body: { name: "Beside", description: "d" } });
    await stack.sql`update changes set caller_id = ${id} where id = any(${[edit, role]})`;
    const partly = await undo(stack, {
      user: id,
      from: new Date(Date.now() - 3_600_000).toISOString(),
      to: new Date(Date.now() + 3_600_000).toISOString(),
    });
    expect(partly.conflicts).toMatchObject([{ record: `user/${id}`, now: "Doomed IV" }]);
    const text = async () => JSON.stringify(await stack.sql`select to_jsonb(changes) as row from changes`);
    expect(await text()).toMatch(/Doomed/);

    await change("admin-users/delete", { path: { id } });

    expect(await text()).not.toMatch(/Doomed/);
    expect(await text()).not.toContain(username);
    expect(await stack.sql`select before from changes where id = ${undoing}`).toEqual([
      { before: [{ record: "user", id, did: "edit", undoes: expect.any(Number) }] },
    ]);
    expect((await undo(stack, { change: undoing })).refused).toMatchObject([
      { reason: `User ${id} was deleted, which is for good` },
    ]);
  });
});

/** The administrator of this file, if a test has taken the role. */
const anAdministratorAgain = () => stack.sql`
  insert into user_roles (user_id, role_id)
  select ${administrator.id}, id from roles where key = 'administrator'
  on conflict do nothing
`;
