import { describe, expect, it } from "vitest";
import { permissions } from "../../../lib/contract/permissions.ts";
import { useHolder } from "../../support/callers.ts";
import { permissionId } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const viewer = useHolder(stack, "view-permissions");

const show = (id: number | string) => stack.call("admin-permissions/id", { as: viewer.token, path: { id } });

describe("GET /admin-permissions/id/{id}", () => {
  it("answers 200 with the permission", async () => {
    const id = await permissionId(stack.sql, "add-roles");

    const { status, body } = await show(id);

    expect(status).toBe(200);
    expect(body).toEqual({ id, name: "add-roles", description: permissions["add-roles"] });
  });
});
