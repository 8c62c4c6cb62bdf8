import { describe, expect, it } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { envelope, forbidden } from "../../support/envelope.ts";
import { aUser, holderOf } from "../../support/people.ts";
import { aRole, defaultRoleId, give, roleIdsOf } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const stack = useStack();
const remover = useHolder(stack, "delete-roles");

const remove = (id: number | string, as = remover.token) => stack.call("admin-roles/delete", { as, path: { id } });
const exists = async ({ id }: { id: number }) => (await stack.sql`select from roles where id = ${id}`).length === 1;

const deleted = envelope(200, "Role deleted");
const failed = envelope(500, "Internal server error");

describe("DELETE /admin-roles/delete/{id}", () => {
  it("answers 200, deletes the role and gives the default role to users who had only this one", async () => {
    const [role, other] = [await aRole(stack.sql, "delete-roles"), await aRole(stack.sql)];
    const [only, both] = [await aUser(stack.sql), await aUser(stack.sql)];
    await give(stack.sql, only, role);
    await give(stack.sql, both, role, other);

    const { body } = await remove(role.id);

    expect(body).toEqual(deleted);
    expect(await exists(role)).toBe(false);
    expect(await roleIdsOf(stack.sql, only)).toEqual([await defaultRoleId(stack.sql)]);
    expect(await roleIdsOf(stack.sql, both)).toEqual([other.id]);
    expect(await stack.sql`select from role_permissions where role_id = ${role.id}`).toHaveLength(0);
  });

  it("answers 200, and its users lose its permissions at once", async () => {
    const viewer = await holderOf(stack.sql, "delete-roles");
    const [role = 0] = await roleIdsOf(stack.sql, viewer);
    const next = await aRole(stack.sql);

    await remove(role);

    expect((await unchanged(stack, () => remove(next.id, viewer.token))).body).toEqual(forbidden);
  });

  it("answers 405 and keeps the default role", async () => {
    const id = await defaultRoleId(stack.sql);

    expect((await unchanged(stack, () => remove(id))).body).toEqual(envelope(405, "Cannot delete default role"));
  });

  it("answers 500 and deletes nothing when there is no default role", async () => {
    const role = await aRole(stack.sql);
    const id = await defaultRoleId(stack.sql);
    await stack.sql`update roles set is_default = 0 where id = ${id}`;

    const { body } = await unchanged(stack, () => remove(role.id));

    await stack.sql`update roles set is_default = 1 where id = ${id}`;
    expect(body).toEqual(failed);
  });
});
