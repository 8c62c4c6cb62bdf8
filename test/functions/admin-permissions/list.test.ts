import { describe, expect, it } from "vitest";
import { permissions } from "../../../lib/contract/permissions.ts";
import { holderOf } from "../../support/people.ts";
import { aPermission } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

const list = (as?: string) => stack.call("admin-permissions/list", { as });

describe("GET /admin-permissions", () => {
  it("answers 200 with every permission, those of other services too", async () => {
    const { token } = await holderOf(stack.sql, "view-permissions");
    const other = await aPermission(stack.sql);

    const { status, body } = await list(token);

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
