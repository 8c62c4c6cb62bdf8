import { describe, expect, it } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { envelope, forbidden } from "../../support/envelope.ts";
import { aPermission, aRole, permissionId, permissionIdsOf } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const stack = useStack();
const remover = useHolder(stack, "delete-permissions");

const remove = (id: number | string, as = remover.token) =>
  stack.call("admin-permissions/delete", { as, path: { id } });

describe("DELETE /admin-permissions/delete/{id}", () => {
  it("answers 200, deletes it and takes it from every role", async () => {
    const { id } = await aPermission(stack.sql);
    const role = await aRole(stack.sql, "view-roles");
    await stack.sql`insert into role_permissions (role_id, permission_id) values (${role.id}, ${id})`;

    const { body } = await remove(id);

    expect(body).toEqual(envelope(200, "Permission deleted"));
    expect(await stack.sql`select from permissions where id = ${id}`).toHaveLength(0);
    expect(await permissionIdsOf(stack.sql, role)).toEqual([await permissionId(stack.sql, "view-roles")]);
  });

  it("answers 403 and deletes nothing when the caller lacks the permission", async () => {
    const id = await permissionId(stack.sql, "edit-roles");

    expect((await unchanged(stack, () => remove(id))).body).toEqual(forbidden);
  });
});
