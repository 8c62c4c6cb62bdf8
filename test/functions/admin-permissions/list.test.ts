import { describe, expect, it } from "vitest";
import { permissions } from "../../../lib/contract/permissions.ts";
import { useHolder } from "../../support/callers.ts";
import { aPermission } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const viewer = useHolder(stack, "view-permissions");

const list = () => stack.call("admin-permissions/list", { as: viewer.token });

describe("GET /admin-permissions", () => {
  it("answers 200 with every permission, those of other services too", async () => {
    const other = await aPermission(stack.sql);

    const { status, body } = await list();

    expect(status).toBe(200);
    expect(body).toHaveLength(Object.keys(permissions).length + 1);
    expect(body).toContainEqual({
      id: expect.any(Number),
      name: "view-users",
      description: permissions["view-users"],
    });
    expect(body.at(-1)).toEqual({ id: other.id, name: other.name, description: "" });
  });
});
