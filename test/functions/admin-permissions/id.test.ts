import { describe, expect, it } from "vitest";
import event from "../../../events/admin-permissions/id.json" with { type: "json" };
import { permissions } from "../../../lib/contract/permissions.ts";
import { envelope, missingParameters } from "../../support/envelope.ts";
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

  it("answers 400 without an id", async () => {
    const invocation = await stack.lambda.invoke("admin-permissions-id", { ...event, pathParameters: null });

    expect(invocation).toMatchObject({ result: { statusCode: 400, body: JSON.stringify(missingParameters) } });
  });

  it.each(["999999", "0", "-1", "add-roles", "1 or 1=1", "1.0", "99999999999999999999"])(
    "answers 404 for the id %s, which no permission has",
    async (id) => {
      const { token } = await holderOf(stack.sql, "view-permissions");

      expect((await show(id, token)).body).toEqual(envelope(404, "Permission not found"));
    },
  );
});
