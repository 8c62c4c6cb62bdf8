import { describe, expect, it } from "vitest";
import { type Permission, permissions } from "../../lib/contract/permissions.ts";
import { envelope, forbidden } from "../support/envelope.ts";
import { anAdministrator, aUser, holderOf, type Person } from "../support/people.ts";
import { aPermission, aRole, defaultRoleId, give, type Named, permissionId, roleIdsOf } from "../support/records.ts";
import { type Reply, useStack } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";

/*
 * Attacks on the three rules in README.md, "Who may do what"; authority-worlds.test.ts compares all that they forbid and allow
 * with a model.
 */

const stack = useStack();

const editUser = (by: Person, { id, username }: Person, roles: { added_roles?: number[]; removed_roles?: number[] }) =>
  stack.call("admin-users/edit", { as: by.token, path: { id }, body: { username, ...roles } });
const editRole = (by: Person, { id, name }: Named, changes: object = {}) =>
  stack.call("admin-roles/edit", { as: by.token, path: { id }, body: { name, ...changes } });
const remove = (by: Person, what: "users" | "roles" | "permissions", id: number) =>
  stack.call(`admin-${what}/delete`, { as: by.token, path: { id } });

async function expectForbidden(...requests: readonly (() => Promise<Reply>)[]): Promise<void> {
  for (const request of requests) expect((await unchanged(stack, request)).body).toEqual(forbidden);
}

/** A user with these roles alone. */
async function userOf(...roles: readonly Named[]): Promise<Person> {
  const user = await aUser(stack.sql);
  await give(stack.sql, user, ...roles);
  return user;
}

async function administratorRole(): Promise<Named> {
  const [{ id = 0, name = "" } = {}] = await stack.sql`select id, name from roles where key = 'administrator'`;
  return { id, name };
}

/** A user with all permissions, but without the Administrator role. */
const everythingElse = async () => userOf(await aRole(stack.sql, ...(Object.keys(permissions) as Permission[])));

it("A permission that this service does not check is granted, and taken from anybody, by all who may edit", async () => {
  const caller = await holderOf(stack.sql, "edit-roles", "delete-roles", "edit-users", "view-roles");
  const foreign = await aPermission(stack.sql);
  const [role, more] = [await aRole(stack.sql, "view-roles"), await aRole(stack.sql, "view-users")];
  const changes = { added_permissions: [foreign.id] };
  const superior = await holderOf(stack.sql, "edit-roles", "delete-roles", "edit-users", "view-roles", "view-users");
  await give(stack.sql, superior, role);

  expect((await editRole(caller, role, changes)).status).toBe(200);
  expect((await editUser(caller, await userOf(more), { added_roles: [role.id] })).status).toBe(200);
  // The role lacks the second permission, so it cannot lose it.
  const removed_permissions = [foreign.id, await permissionId(stack.sql, "view-users")];
  expect((await editRole(caller, role, { removed_permissions })).status).toBe(200);
  await editRole(caller, role, changes);
  expect((await remove(caller, "roles", role.id)).status).toBe(200);
});

it.each([
  ["editing", "edit-roles"],
  ["deleting", "delete-roles"],
] as const)(
  "Nobody weakens a user who has all of their permissions and more by %s a role, to delete the user afterwards",
  async (_, permission) => {
    const moderator = await holderOf(stack.sql, permission, "delete-users");
    const role = await aRole(stack.sql, permission, "delete-users", "view-users");
    const superior = await userOf(role);
    const removed_permissions = [await permissionId(stack.sql, "view-users")];

    await expectForbidden(
      () =>
        permission === "edit-roles"
          ? editRole(moderator, role, { removed_permissions })
          : remove(moderator, "roles", role.id),
      () => remove(moderator, "users", superior.id),
    );
  },
);

it("Nobody hands out a permission that they lack by taking somebody's last role, so that they get the default one", async () => {
  const { sql } = stack;
  const defaultRole = await defaultRoleId(sql);
  const granted = await permissionId(sql, "view-contributors");
  await sql`insert into role_permissions (role_id, permission_id) values (${defaultRole}, ${granted})`;
  const caller = await holderOf(sql, "edit-users", "delete-roles");
  const able = await holderOf(sql, "edit-users", "delete-roles", "view-contributors");
  const [own = 0] = await roleIdsOf(sql, caller);
  const [one, other] = [await aRole(sql), await aRole(sql)];
  const user = await userOf(one, other);
  const [roles, last] = [[one.id, other.id], { removed_roles: [one.id] }];

  await expectForbidden(
    () => editUser(caller, user, { removed_roles: roles }),
    () => editUser(caller, user, { added_roles: roles, removed_roles: roles }),
    () => remove(caller, "roles", own),
  );
  expect((await remove(caller, "roles", other.id)).status).toBe(200);
  await expectForbidden(
    () => editUser(caller, user, last),
    () => remove(caller, "roles", one.id),
  );

  expect((await editUser(able, user, last)).status).toBe(200);
  // A user without another role gets the default role back, so no user gets anything.
  expect((await editUser(caller, user, { removed_roles: [defaultRole] })).status).toBe(200);
  expect(await roleIdsOf(sql, user)).toEqual([defaultRole]);
  await sql`delete from role_permissions where role_id = ${defaultRole}`;
});

describe("Only its holders act on the Administrator role", () => {
  it("which keeps the fifteen; it may be renamed, and get what this service does not check", async () => {
    const administrator = await anAdministrator(stack.sql);
    const [role, foreign] = [await administratorRole(), await aPermission(stack.sql)];
    const own = await permissionId(stack.sql, "delete-users");

    await expectForbidden(() => editRole(administrator, role, { removed_permissions: [foreign.id, own] }));
    const [added_permissions, removed_permissions] = [[foreign.id], [foreign.id]];
    for (const fields of [{ added_permissions }, { removed_permissions }, { name: "Chief" }, {}])
      expect((await editRole(administrator, role, fields)).status).toBe(200);
  });

  it("also when somebody else has all permissions, since one has been deleted", async () => {
    const [administrator, other] = [await anAdministrator(stack.sql), await anAdministrator(stack.sql)];
    const climber = await everythingElse();
    const role = await administratorRole();
    const missing = await permissionId(stack.sql, "delete-contributors");
    const deletable = await permissionId(stack.sql, "add-contributors");
    await stack.sql`delete from role_permissions where permission_id = ${missing} and role_id <> ${role.id}`;
    expect((await remove(administrator, "permissions", missing)).status).toBe(200);

    await expectForbidden(
      () => editRole(climber, role),
      () => editRole(climber, role, { added_permissions: [deletable] }),
      () => editRole(climber, role, { removed_permissions: [deletable] }),
      () => remove(climber, "roles", role.id),
      () => editUser(climber, other, { removed_roles: [role.id] }),
      () => remove(climber, "users", other.id),
      () => remove(climber, "permissions", deletable),
    );
    expect((await editRole(administrator, role)).status).toBe(200);
    expect((await editUser(administrator, other, { removed_roles: [role.id] })).status).toBe(200);
  });

  it("of which deleting one of the fifteen permissions takes it", async () => {
    const administrator = await anAdministrator(stack.sql);
    const other = await everythingElse();
    const id = await permissionId(stack.sql, "view-permissions");
    const body = { name: "See permissions", description: "Renamed" };

    await expectForbidden(() => remove(other, "permissions", id));
    const renamed = await stack.call("admin-permissions/edit", { as: other.token, path: { id }, body });

    expect(renamed.status).toBe(200);
    expect((await remove(administrator, "permissions", id)).body).toEqual(envelope(200, "Permission deleted"));
  });

  it("and nobody deletes it, even if it has no users", async () => {
    const other = await everythingElse();
    const role = await administratorRole();
    await stack.sql`delete from user_roles where role_id = ${role.id}`;

    await expectForbidden(
      () => remove(other, "roles", role.id),
      () => editRole(other, role),
    );
    const administrator = await anAdministrator(stack.sql);
    await expectForbidden(() => remove(administrator, "roles", role.id));
  });

  it("and only they grant it, also when it is the default role", async () => {
    const [administrator, other] = [await anAdministrator(stack.sql), await everythingElse()];
    const role = await administratorRole();
    const single = await aRole(stack.sql);
    const user = await userOf(single);

    await expectForbidden(() => editUser(other, other, { added_roles: [role.id] }));
    await stack.sql`update roles set is_default = 0`;
    await stack.sql`update roles set is_default = 1 where id = ${role.id}`;
    await expectForbidden(
      () => editUser(other, user, { removed_roles: [single.id] }),
      () => remove(other, "roles", single.id),
    );
    expect((await editUser(administrator, user, { removed_roles: [single.id] })).status).toBe(200);
    expect(await roleIdsOf(stack.sql, user)).toEqual([role.id]);
  });

  it("and nobody climbs to it who holds the permissions that are left, and restores the others", async () => {
    const { sql } = stack;
    const left: Permission[] = ["edit-users", "add-permissions", "view-users", "view-roles"];
    const climber = await holderOf(sql, ...left);
    const role = await administratorRole();
    await sql`delete from permissions where key <> all(${left})`;

    await expectForbidden(() => editUser(climber, climber, { added_roles: [role.id] }));
    for (const name of Object.keys(permissions).filter((key) => !left.some((each) => each === key)))
      await stack.call("admin-permissions/add", { as: climber.token, body: { name, description: "Restored" } });

    const { body } = await stack.call("session", { as: climber.token });
    expect(body.permissions.toSorted()).toEqual(left.toSorted());
  });
});
