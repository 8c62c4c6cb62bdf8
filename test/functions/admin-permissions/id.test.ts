import { describe, expect, it } from "vitest";
import { permissions } from "../../../lib/contract/permissions.ts";
import { holderOf } from "../../support/people.ts";
import { permissionId } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

const show = (id: number | string, as?: string) => stack.call("admin-permissions/id", { as, path: { id } });

describe("GET /admin-permissions/id/{id}", () => {
  it("answers 200 with the permission", async () => {
    const { token } = await holderOf(stack.sql, "view-permissions");
    const id = await permissionId(stack.sql, "add-roles");

    const { status, body } = await show(id, token);

    expect(status).toBe(200);
    expect(body).toEqual({ id, name: "add-roles", description: permissions["add-roles"] });
  });
});
