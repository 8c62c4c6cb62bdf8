import { describe, expect, it } from "vitest";
import { permissions } from "../../../lib/contract/permissions.ts";
import { useHolder } from "../../support/callers.ts";
import { aRole, defaultRoleId, permissionId } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const viewer = useHolder(stack, "view-roles");

const show = (id: number | string) => stack.call("admin-roles/id", { as: viewer.token, path: { id } });

describe("GET /admin-roles/id/{id}", () => {
  it("answers 200 with the role and its permissions", async () => {
    const role = await aRole(stack.sql, "delete-users", "view-users");

    const { status, body } = await show(role.id);

    expect(status).toBe(200);
    expect(body).toEqual({
      id: role.id,
      name: role.name,
      description: "Made for a test",
      is_default: 0,
      permissions: [
        {
          id: await permissionId(stack.sql, "view-users"),
          name: "view-users",
          description: permissions["view-users"],
        },
        {
          id: await permissionId(stack.sql, "delete-users"),
          name: "delete-users",
          description: permissions["delete-users"],
        },
      ],
    });
  });

  it("answers 200 with the mark of the default role, and with an empty description instead of null", async () => {
    const id = await defaultRoleId(stack.sql);
    await stack.sql`update roles set description = null where id = ${id}`;

    expect((await show(id)).body).toMatchObject({ id, is_default: 1, description: "", permissions: [] });
  });
});
