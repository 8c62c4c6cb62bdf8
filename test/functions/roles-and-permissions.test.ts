import { describe, expect, it } from "vitest";
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
const call = async (name: string, id = 0, body?: object, as = editor.token) =>
  (await stack.call(name, { as, path: { id }, body })).body;
const refused = async (...[name, id, body, as = editor.token]: Parameters<typeof call>) =>
  (await unchanged(stack, () => stack.call(name, { as, path: { id: id ?? 0 }, body }))).body;
const rowOf = async (table: string, { id }: { id: number }) =>
  (await stack.sql`select to_jsonb(each) as row from ${identifier(table)} as each where id = ${id}`)[0]?.row;

/** What a client may not set. */
const forged = { id: 1, key: "administrator", is_default: 1, permissions: [1] };

describe.each([
  [["POST /admin-roles/add", "POST /admin-roles/edit/{id}"], "roles", "Role", { is_default: 0 }],
  [["POST /admin-permissions/add", "POST /admin-permissions/edit/{id}"], "permissions", "Permission", {}],
] as const)("%j", (_, table, noun, own) => {
  it("return 200 to an addition, without surrounding space and what a client may not set", async () => {
    const granted = () => stack.sql`select role_id, permission_id from role_permissions order by 1, 2`;
    const before = await granted();
    const body = { ...forged, added_permissions: [1], name: " Librarian ", description: "Looks after books" };

    expect(await call(`admin-${table}/add`, 0, body)).toEqual(envelope(200, `${noun} added`));

    const [added] = await stack.sql`select max(id) as id from ${identifier(table)}`;
    const fields = { name: "Librarian", description: "Looks after books", key: null, ...own };
    expect(await rowOf(table, { id: added?.id })).toMatchObject(fields);
    expect(await granted()).toEqual(before);
  });

  it("return 200 to an edit of name and description, also if only the name's case changes", async () => {
    const { id, name } = await makers[table](stack.sql);
    const fields = { name: name.toUpperCase(), description: "Edited" };

    expect(await call(`admin-${table}/edit`, id, { ...forged, ...fields })).toEqual(envelope(200, `${noun} updated`));

    expect(await rowOf(table, { id })).toMatchObject({ ...fields, id, key: null, ...own });
  });
});

it("GET /admin-roles returns 200 with every role and the number of its permissions and users, after each change", async () => {
  const [role, bare] = [await aRole(stack.sql, "view-users", "edit-users"), await aRole(stack.sql)];
  await stack.sql`update roles set description = null where id = ${bare.id}`;
  const users = [await aUser(stack.sql), await aUser(stack.sql), await aUser(stack.sql)];
  for (const user of users) await give(stack.sql, user, role);
  const last = async () => (await show("admin-roles/list")).slice(-2);
  const shown = { ...role, description: "Made for a test", permission_count: 2, user_count: 3 };
  const other = { ...bare, description: null, permission_count: 0, user_count: 0 };

  expect(await show("admin-roles/list")).toHaveLength((await stack.sql`select from roles`).length);
  expect(await last()).toEqual([shown, other]);
  await stack.sql`delete from users where id = ${users[0]?.id ?? 0}`;
  expect(await last()).toEqual([{ ...shown, user_count: 2 }, other]);
});

it("GET /admin-roles/id/{id} returns 200 with the role and its permissions, and with an empty description instead of null", async () => {
  const keys = ["view-users", "delete-users"] as const;
  const role = await aRole(stack.sql, ...keys);
  const ids = await Promise.all(keys.map((key) => permissionId(stack.sql, key)));
  const id = await defaultRoleId(stack.sql);
  await stack.sql`update roles set description = null where id = ${id}`;

  expect(await show("admin-roles/id", role.id)).toEqual({
    ...role,
    description: "Made for a test",
    is_default: 0,
    permissions: keys.map((name, index) => ({ id: ids[index], name, description: permissions[name] })),
  });
  expect(await show("admin-roles/id", id)).toMatchObject({ id, is_default: 1, description: "", permissions: [] });
});

describe("The permissions and the description of a role", () => {
  const edit = (role: Named, fields: object = {}) => call("admin-roles/edit", role.id, { name: role.name, ...fields });

  it("are added and removed by an edit, up to 500 at once; one that is both added and removed is removed", async () => {
    const role = await aRole(stack.sql, "view-users");
    const [held, foreign] = [await permissionId(stack.sql, "view-users"), await aPermission(stack.sql)];

    await edit(role, { added_permissions: [foreign.id], removed_permissions: [held] });
    const both = { added_permissions: [held, String(held)], removed_permissions: [held, ...Array(499).fill(999_999)] };
    expect(await edit(role, both)).toEqual(envelope(200, "Role updated"));
    expect(await permissionIdsOf(stack.sql, role)).toEqual([foreign.id]);
  });

  it("stay where an edit leaves them out; null empties the description", async () => {
    const role = await aRole(stack.sql, "view-users");

    await edit(role);
    expect(await rowOf("roles", role)).toMatchObject({ description: "Made for a test" });
    await edit(role, { description: null });
    expect(await rowOf("roles", role)).toMatchObject({ description: null });
    expect(await permissionIdsOf(stack.sql, role)).toHaveLength(1);
  });
});

describe("DELETE /admin-roles/delete/{id}", () => {
  it("returns 200, and its users lose its permissions; those who had only this one get the default role", async () => {
    const [role, other] = [await aRole(stack.sql, "delete-roles"), await aRole(stack.sql)];
    const [only, both] = [await aUser(stack.sql), await aUser(stack.sql)];
    await give(stack.sql, only, role);
    await give(stack.sql, both, role, other);

    expect(await call("admin-roles/delete", role.id)).toEqual(envelope(200, "Role deleted"));

    expect(await rowOf("roles", role)).toBeUndefined();
    expect(await roleIdsOf(stack.sql, only)).toEqual([await defaultRoleId(stack.sql)]);
    expect(await roleIdsOf(stack.sql, both)).toEqual([other.id]);
    expect(await permissionIdsOf(stack.sql, role)).toEqual([]);
    expect(await refused("admin-roles/delete", other.id, undefined, only.token)).toEqual(forbidden);
  });

  it("returns 405 to the default role, and 500 to any other while there is none; nothing is deleted", async () => {
    const [id, role] = [await defaultRoleId(stack.sql), await aRole(stack.sql)];

    expect(await refused("admin-roles/delete", id)).toEqual(envelope(405, "Cannot delete default role"));
    await stack.sql`update roles set is_default = 0 where id = ${id}`;
    const body = await refused("admin-roles/delete", role.id);

    await stack.sql`update roles set is_default = 1 where id = ${id}`;
    expect(body).toEqual(envelope(500, "Internal server error"));
  });
});

describe("Permissions", () => {
  it("GET /admin-permissions returns 200 with every one, those of other services too", async () => {
    const other = await aPermission(stack.sql);

    const all = await show("admin-permissions/list");

    expect(all).toHaveLength((await stack.sql`select from permissions`).length);
    expect(all.at(-1)).toEqual({ ...other, description: "" });
  });

  it("GET /admin-permissions/id/{id} returns 200 with the permission", async () => {
    const shown = { id: await permissionId(stack.sql, "add-roles"), name: "add-roles" };

    expect(await show("admin-permissions/id", shown.id)).toEqual({ ...shown, description: permissions["add-roles"] });
  });

  it("DELETE /admin-permissions/delete/{id} returns 200, and takes it from every role", async () => {
    const { id } = await aPermission(stack.sql);
    const role = await aRole(stack.sql, "view-roles");
    await stack.sql`insert into role_permissions (role_id, permission_id) values (${role.id}, ${id})`;

    expect(await call("admin-permissions/delete", id)).toEqual(envelope(200, "Permission deleted"));

    expect(await rowOf("permissions", { id })).toBeUndefined();
    expect(await permissionIdsOf(stack.sql, role)).toEqual([await permissionId(stack.sql, "view-roles")]);
  });

  it("keep their effect when they are renamed", async () => {
    const id = await permissionId(stack.sql, "view-roles");
    const rename = (name: string) =>
      call("admin-permissions/edit", id, { name, description: "d" }, administrator.token);

    expect(await rename("put aside")).toMatchObject({ code: 200 });

    expect((await viewer.call("admin-roles/list")).status).toBe(200);
    expect(await rowOf("permissions", { id })).toMatchObject({ key: "view-roles", name: "put aside" });
    expect(await rename("View-Roles")).toMatchObject({ code: 200 });
  });

  it("of this service keep their original names for themselves, renamed or deleted: 409", async () => {
    const [{ id }, own] = [await aPermission(stack.sql), await permissionId(stack.sql, "edit-permissions")];
    const taken = envelope(409, "Permission with the same name already exists");
    await stack.sql`update permissions set name = 'renamed' where key = 'view-permissions'`;
    await stack.sql`delete from permissions where key = 'edit-contributors'`;

    for (const name of ["view-permissions", " View-Permissions", "view-permißions"])
      expect(await refused("admin-permissions/add", 0, { name, description: "d" })).toEqual(taken);
    for (const name of ["view-permissions", "Edit-Contributors"])
      for (const each of [id, own])
        expect(await refused("admin-permissions/edit", each, { name, description: "d" })).toEqual(taken);
  });

  it("of this service that are missing are restored by an addition, for the Administrator role only", async () => {
    const { sql } = stack;
    const adder = await holderOf(sql, "add-permissions", "delete-contributors");
    const other = await anAdministrator(sql);
    const contributor = await aContributor(sql);
    await sql`delete from permissions where key = 'delete-contributors'`;
    const add = (name: string) => call("admin-permissions/add", 0, { name, description: "Back" }, adder.token);
    const attempt = (as: string) => call("admin-contributors/delete", contributor.id, undefined, as);
    expect(await attempt(other.token)).toEqual(forbidden);

    expect(await add(" Delete-Contributorſ")).toEqual(envelope(200, "Permission added"));

    expect(await attempt(adder.token)).toEqual(forbidden);
    expect(await attempt(other.token)).toEqual(envelope(200, "Contributor deleted"));
    expect(await add("delete-contributors")).toMatchObject({ code: 409 });
  });
});
