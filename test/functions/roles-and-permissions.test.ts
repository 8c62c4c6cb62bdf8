import { beforeAll, describe, expect, it } from "vitest";
import { permissions } from "../../lib/contract/permissions.ts";
import { useAdministrator, useHolder } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { identifier } from "../support/database.ts";
import { envelope, forbidden } from "../support/envelope.ts";
import { anAdministrator, aUser, holderOf } from "../support/people.ts";
import {
  aPermission,
  aRole,
  defaultRoleId,
  give,
  type Named,
  permissionId,
  permissionIdsOf,
  roleIdsOf,
} from "../support/records.ts";
import { makers } from "../support/requests.ts";
import { useStack } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";

const stack = useStack();
const viewer = useHolder(stack, "view-roles", "view-permissions");
const editor = useHolder(
  stack,
  ...(["add-roles", "edit-roles", "delete-roles"] as const),
  ...(["add-permissions", "edit-permissions", "delete-permissions", "view-users"] as const),
);
const administrator = useAdministrator(stack);

const show = async (name: string, id = 0) => (await viewer.call(name, { path: { id } })).body;

interface Call {
  readonly id?: number;
  readonly body?: object;
  /** The token of the caller; by default the editor's. */
  readonly as?: string;
}
const call = async (name: string, { id = 0, body, as = editor.token }: Call = {}) =>
  (await stack.call(name, { as, path: { id }, body })).body;
/** The response to a change that changes nothing. */
const refused = async (name: string, { id = 0, body, as = editor.token }: Call = {}) =>
  (await unchanged(stack, () => stack.call(name, { as, path: { id }, body }))).body;
const rowOf = async (table: string, { id }: { id: number }) =>
  (await stack.sql`select to_jsonb(each) as row from ${identifier(table)} as each where id = ${id}`)[0]?.row;

/** What a client may not set. */
const forged = { id: 1, key: "administrator", is_default: 1, permissions: [1] };

describe.each([
  { title: "POST /admin-roles/add", name: "admin-roles/add", table: "roles", added: "Role added" },
  {
    title: "POST /admin-permissions/add",
    name: "admin-permissions/add",
    table: "permissions",
    added: "Permission added",
  },
] as const)("$title", ({ name, table, added }) => {
  const newest = async () => {
    const [row] =
      await stack.sql`select to_jsonb(each) as row from ${identifier(table)} as each order by id desc limit 1`;
    return row?.row;
  };

  it("returns 200 and stores name and description, without surrounding space", async () => {
    const body = { name: " Librarian ", description: "Looks after books" };

    expect(await call(name, { body })).toEqual(envelope(200, added));

    expect(await newest()).toMatchObject({ name: "Librarian", description: "Looks after books" });
  });

  it("returns 200 and ignores what a client may not set", async () => {
    const granted = () => stack.sql`select role_id, permission_id from role_permissions order by 1, 2`;
    const before = await granted();
    const body = { ...forged, added_permissions: [1], name: "Archivist", description: "Looks after papers" };

    expect(await call(name, { body })).toEqual(envelope(200, added));

    expect(await newest()).toMatchObject({ name: "Archivist", key: null });
    expect(await stack.sql`select from roles where is_default = 1`).toHaveLength(1);
    expect(await granted()).toEqual(before);
  });
});

describe.each([
  { title: "POST /admin-roles/edit/{id}", name: "admin-roles/edit", table: "roles", edited: "Role updated" },
  {
    title: "POST /admin-permissions/edit/{id}",
    name: "admin-permissions/edit",
    table: "permissions",
    edited: "Permission updated",
  },
] as const)("$title", ({ name, table, edited }) => {
  it("returns 200 and stores the description and the name, even in another case", async () => {
    const record = await makers[table](stack.sql);
    const fields = { name: record.name.toUpperCase(), description: "Edited" };

    expect(await call(name, { id: record.id, body: fields })).toEqual(envelope(200, edited));

    expect(await rowOf(table, record)).toMatchObject(fields);
  });

  it("returns 200 and ignores what a client may not set", async () => {
    const record = await makers[table](stack.sql);
    const { key, is_default } = await rowOf(table, record);

    expect(await call(name, { id: record.id, body: { ...forged, name: record.name, description: "Edited" } })).toEqual(
      envelope(200, edited),
    );

    expect(await rowOf(table, record)).toMatchObject({ id: record.id, key, ...(is_default === 0 && { is_default }) });
  });
});

describe("GET /admin-roles", () => {
  it("returns 200 with every role", async () => {
    const role = await aRole(stack.sql, "view-users");

    const roles = await show("admin-roles/list");

    expect(roles).toHaveLength((await stack.sql`select from roles`).length);
    expect(roles.at(-1)).toMatchObject({ ...role, description: "Made for a test" });
  });

  it("returns 200 with the number of a role's permissions", async () => {
    await aRole(stack.sql, "view-users", "edit-users");
    await aRole(stack.sql);

    expect((await show("admin-roles/list")).slice(-2)).toMatchObject([
      { permission_count: 2 },
      { permission_count: 0 },
    ]);
  });

  it("returns 200 with the number of a role's users, also when one was deleted", async () => {
    const role = await aRole(stack.sql);
    const [first, second] = [await aUser(stack.sql), await aUser(stack.sql)];
    for (const user of [first, second]) await give(stack.sql, user, role);
    expect((await show("admin-roles/list")).at(-1)).toMatchObject({ user_count: 2 });

    await stack.sql`delete from users where id = ${first.id}`;

    expect((await show("admin-roles/list")).at(-1)).toMatchObject({ user_count: 1 });
  });

  it("returns 200 with null for a missing description", async () => {
    const role = await aRole(stack.sql);
    await stack.sql`update roles set description = null where id = ${role.id}`;

    expect((await show("admin-roles/list")).at(-1)).toEqual({
      ...role,
      description: null,
      permission_count: 0,
      user_count: 0,
    });
  });
});

describe("GET /admin-roles/id/{id}", () => {
  it("returns 200 with the role and its permissions", async () => {
    const keys = ["view-users", "delete-users"] as const;
    const role = await aRole(stack.sql, ...keys);
    const ids = await Promise.all(keys.map((key) => permissionId(stack.sql, key)));

    expect(await show("admin-roles/id", role.id)).toEqual({
      ...role,
      description: "Made for a test",
      is_default: 0,
      permissions: keys.map((name, index) => ({ id: ids[index], name, description: permissions[name] })),
    });
  });

  it("returns 200 with an empty description for a missing one", async () => {
    const id = await defaultRoleId(stack.sql);
    await stack.sql`update roles set description = null where id = ${id}`;

    expect(await show("admin-roles/id", id)).toMatchObject({ id, is_default: 1, description: "", permissions: [] });
  });
});

describe("The permissions of a role", () => {
  const edit = (role: Named, fields: object = {}) =>
    call("admin-roles/edit", { id: role.id, body: { name: role.name, ...fields } });

  it("are added and removed by an edit", async () => {
    const role = await aRole(stack.sql, "view-users");
    const [held, foreign] = [await permissionId(stack.sql, "view-users"), await aPermission(stack.sql)];

    await edit(role, { added_permissions: [foreign.id], removed_permissions: [held] });

    expect(await permissionIdsOf(stack.sql, role)).toEqual([foreign.id]);
  });

  it("lose one that an edit both adds and removes, among up to 500", async () => {
    const role = await aRole(stack.sql);
    const id = await permissionId(stack.sql, "view-users");
    const both = { added_permissions: [id, String(id)], removed_permissions: [id, ...Array(499).fill(999_999)] };

    expect(await edit(role, both)).toEqual(envelope(200, "Role updated"));

    expect(await permissionIdsOf(stack.sql, role)).toEqual([]);
  });

  it("stay where an edit leaves them out", async () => {
    const role = await aRole(stack.sql, "view-users");

    await edit(role);

    expect(await permissionIdsOf(stack.sql, role)).toHaveLength(1);
  });

  it("stay with a description that an edit leaves out", async () => {
    const role = await aRole(stack.sql);

    await edit(role);

    expect(await rowOf("roles", role)).toMatchObject({ description: "Made for a test" });
  });

  it("stay when null empties the description", async () => {
    const role = await aRole(stack.sql, "view-users");

    await edit(role, { description: null });

    expect(await rowOf("roles", role)).toMatchObject({ description: null });
    expect(await permissionIdsOf(stack.sql, role)).toHaveLength(1);
  });
});

describe("DELETE /admin-roles/delete/{id}", () => {
  it("returns 200 and takes its permissions from its users", async () => {
    const role = await aRole(stack.sql, "delete-roles");
    const user = await aUser(stack.sql);
    await give(stack.sql, user, role, await aRole(stack.sql));

    expect(await call("admin-roles/delete", { id: role.id })).toEqual(envelope(200, "Role deleted"));

    expect(await rowOf("roles", role)).toBeUndefined();
    expect(await permissionIdsOf(stack.sql, role)).toEqual([]);
    expect(await refused("admin-roles/delete", { id: (await aRole(stack.sql)).id, as: user.token })).toEqual(forbidden);
  });

  it("returns 200 and gives the default role to users who had only this one", async () => {
    const [role, other] = [await aRole(stack.sql), await aRole(stack.sql)];
    const [only, both] = [await aUser(stack.sql), await aUser(stack.sql)];
    await give(stack.sql, only, role);
    await give(stack.sql, both, role, other);

    await call("admin-roles/delete", { id: role.id });

    expect(await roleIdsOf(stack.sql, only)).toEqual([await defaultRoleId(stack.sql)]);
    expect(await roleIdsOf(stack.sql, both)).toEqual([other.id]);
  });

  it("returns 405 to the default role", async () => {
    const id = await defaultRoleId(stack.sql);

    expect(await refused("admin-roles/delete", { id })).toEqual(envelope(405, "Cannot delete default role"));
  });

  it("returns 500 while there is no default role", async () => {
    const [id, role] = [await defaultRoleId(stack.sql), await aRole(stack.sql)];
    await stack.sql`update roles set is_default = 0 where id = ${id}`;

    const body = await refused("admin-roles/delete", { id: role.id });

    await stack.sql`update roles set is_default = 1 where id = ${id}`;
    expect(body).toEqual(envelope(500, "Internal server error"));
  });
});

describe("GET /admin-permissions", () => {
  it("returns 200 with every permission, those of other services too", async () => {
    const other = await aPermission(stack.sql);

    const all = await show("admin-permissions/list");

    expect(all).toHaveLength((await stack.sql`select from permissions`).length);
    expect(all.at(-1)).toEqual({ ...other, description: "" });
  });
});

describe("GET /admin-permissions/id/{id}", () => {
  it("returns 200 with the permission", async () => {
    const shown = { id: await permissionId(stack.sql, "add-roles"), name: "add-roles" };

    expect(await show("admin-permissions/id", shown.id)).toEqual({ ...shown, description: permissions["add-roles"] });
  });
});

describe("DELETE /admin-permissions/delete/{id}", () => {
  it("returns 200 and takes the permission from every role", async () => {
    const { id } = await aPermission(stack.sql);
    const role = await aRole(stack.sql, "view-roles");
    await stack.sql`insert into role_permissions (role_id, permission_id) values (${role.id}, ${id})`;

    expect(await call("admin-permissions/delete", { id })).toEqual(envelope(200, "Permission deleted"));

    expect(await rowOf("permissions", { id })).toBeUndefined();
    expect(await permissionIdsOf(stack.sql, role)).toEqual([await permissionId(stack.sql, "view-roles")]);
  });
});

describe("The permissions of this service", () => {
  it("keep their effect when they are renamed", async () => {
    const id = await permissionId(stack.sql, "view-roles");
    const rename = (name: string) =>
      call("admin-permissions/edit", { id, body: { name, description: "d" }, as: administrator.token });

    expect(await rename("put aside")).toMatchObject({ code: 200 });

    expect((await viewer.call("admin-roles/list")).status).toBe(200);
    expect(await rowOf("permissions", { id })).toMatchObject({ key: "view-roles", name: "put aside" });
    expect(await rename("View-Roles")).toMatchObject({ code: 200 });
  });

  describe("keep their original names, renamed or deleted, so 409 and no change is the response", () => {
    const taken = envelope(409, "Permission with the same name already exists");

    beforeAll(async () => {
      await stack.sql`update permissions set name = 'renamed' where key = 'view-permissions'`;
      await stack.sql`delete from permissions where key = 'edit-contributors'`;
    });

    it.each(["view-permissions", " View-Permissions", "view-permißions"])("to an addition of %s", async (name) => {
      expect(await refused("admin-permissions/add", { body: { name, description: "d" } })).toEqual(taken);
    });

    it.each(["view-permissions", "Edit-Contributors"])("to another permission that is to be %s", async (name) => {
      const other = await aPermission(stack.sql);

      expect(await refused("admin-permissions/edit", { id: other.id, body: { name, description: "d" } })).toEqual(
        taken,
      );
    });

    it.each(["view-permissions", "Edit-Contributors"])("to one of the fifteen that is to be %s", async (name) => {
      const id = await permissionId(stack.sql, "edit-permissions");

      expect(await refused("admin-permissions/edit", { id, body: { name, description: "d" } })).toEqual(taken);
    });
  });

  describe("come back by an addition of their name", () => {
    const add = (as: string) =>
      call("admin-permissions/add", { body: { name: " Delete-Contributorſ", description: "Back" }, as });
    const attempt = async (as: string) =>
      call("admin-contributors/delete", { id: (await aContributor(stack.sql)).id, as });

    it("for the Administrator role only", async () => {
      const adder = await holderOf(stack.sql, "add-permissions", "delete-contributors");
      const other = await anAdministrator(stack.sql);
      await stack.sql`delete from permissions where key = 'delete-contributors'`;
      expect(await attempt(other.token)).toEqual(forbidden);

      expect(await add(adder.token)).toEqual(envelope(200, "Permission added"));

      expect(await attempt(adder.token)).toEqual(forbidden);
      expect(await attempt(other.token)).toEqual(envelope(200, "Contributor deleted"));
    });

    it("once: the next addition returns 409", async () => {
      const adder = await holderOf(stack.sql, "add-permissions");

      expect(await add(adder.token)).toEqual(envelope(409, "Permission with the same name already exists"));
    });
  });
});
