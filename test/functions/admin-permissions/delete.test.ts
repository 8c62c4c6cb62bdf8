import { describe, expect, it } from "vitest";
import { envelope, forbidden } from "../../support/envelope.ts";
import { anAdministrator, holderOf } from "../../support/people.ts";
import { aPermission, aRole, permissionId, permissionIdsOf } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const stack = useStack();

const remove = (id: number | string, as?: string) => stack.call("admin-permissions/delete", { as, path: { id } });
const missing = envelope(404, "Permission not found");

describe("DELETE /admin-permissions/delete/{id}", () => {
  it("answers 200, deletes it and takes it from every role", async () => {
    const { token } = await holderOf(stack.sql, "delete-permissions");
    const { id } = await aPermission(stack.sql);
    const role = await aRole(stack.sql, "view-roles");
    await stack.sql`insert into role_permissions (role_id, permission_id) values (${role.id}, ${id})`;

    const { body } = await remove(id, token);

    expect(body).toEqual(envelope(200, "Permission deleted"));
    expect(await stack.sql`select from permissions where id = ${id}`).toHaveLength(0);
    expect(await permissionIdsOf(stack.sql, role)).toEqual([await permissionId(stack.sql, "view-roles")]);
  });

  it("answers 200 for a permission of this service, and its endpoints answer 403 from then on", async () => {
    const { token } = await anAdministrator(stack.sql);
    const viewer = await holderOf(stack.sql, "view-users");

    const { status } = await remove(await permissionId(stack.sql, "view-users"), token);

    expect(status).toBe(200);
    const attempt = await stack.call("admin-users/id", { as: viewer.token, path: { id: viewer.id } });
    expect(attempt.body).toEqual(forbidden);
  });

  it("answers 403 and deletes nothing when the caller lacks the permission", async () => {
    const { token } = await holderOf(stack.sql, "delete-permissions");
    const id = await permissionId(stack.sql, "edit-roles");

    expect((await unchanged(stack, () => remove(id, token))).body).toEqual(forbidden);
  });

  it("answers 404 for a permission that is not there", async () => {
    const { token } = await holderOf(stack.sql, "delete-permissions");

    for (const id of [999_999, "edit-users"]) expect((await remove(id, token)).body).toEqual(missing);
  });

  it("answers 404 to all but one of several who delete it at once", async () => {
    const { token } = await holderOf(stack.sql, "delete-permissions");
    const { id } = await aPermission(stack.sql);

    const replies = await Promise.all(Array.from({ length: 8 }, () => remove(id, token)));

    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ status }) => status === 404)).toHaveLength(7);
  });
});
