import { beforeAll, describe, expect, it } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { envelope, forbidden, invalidParameter } from "../../support/envelope.ts";
import { anAdministrator } from "../../support/people.ts";
import { aPermission, aRole, defaultRoleId, permissionId, permissionIdsOf, roleIdsOf } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const stack = useStack();
const editor = useHolder(stack, "edit-roles", "view-users");
let held: number;
let lacked: number;

beforeAll(async () => {
  held = await permissionId(stack.sql, "view-users");
  lacked = await permissionId(stack.sql, "delete-users");
});

const edit = (id: number | string, body: unknown, as = editor.token) =>
  stack.call("admin-roles/edit", { as, path: { id }, body });
const rowOf = async ({ id }: { id: number }) =>
  (await stack.sql`select name, description from roles where id = ${id}`)[0];

const updated = envelope(200, "Role updated");

describe("POST /admin-roles/edit/{id}", () => {
  it("answers 200 and changes name, description and permissions", async () => {
    const role = await aRole(stack.sql, "view-users");
    const foreign = await aPermission(stack.sql);

    const { body } = await edit(role.id, {
      name: " Edited ",
      description: "",
      added_permissions: [foreign.id],
      removed_permissions: [held],
      is_default: 1,
    });

    expect(body).toEqual(updated);
    expect(await rowOf(role)).toEqual({ name: "Edited", description: "" });
    expect(await permissionIdsOf(stack.sql, role)).toEqual([foreign.id]);
    expect(await defaultRoleId(stack.sql)).not.toBe(role.id);
  });

  it("answers 200 and keeps the description that is left out", async () => {
    const role = await aRole(stack.sql);

    await edit(role.id, { name: role.name.toUpperCase() });
    expect(await rowOf(role)).toEqual({ name: role.name.toUpperCase(), description: "Made for a test" });

    await edit(role.id, { name: role.name, description: null });
    expect(await rowOf(role)).toEqual({ name: role.name, description: null });
  });

  it("answers 200 and removes a permission that is both added and removed", async () => {
    const role = await aRole(stack.sql);

    const { body } = await edit(role.id, {
      name: role.name,
      added_permissions: [held, String(held)],
      removed_permissions: [held],
    });

    expect(body).toEqual(updated);
    expect(await permissionIdsOf(stack.sql, role)).toEqual([]);
  });

  it.each([
    ["name", { name: "n".repeat(256) }],
    ["description", { description: 1 }],
    ["description", { description: "d".repeat(2_001) }],
    ["added_permissions", { added_permissions: "1" }],
    ["added_permissions", { added_permissions: [1.5] }],
    ["added_permissions", { added_permissions: [999_999] }],
    ["removed_permissions", { removed_permissions: ["view-users"] }],
    ["removed_permissions", { removed_permissions: Array(501).fill(999_999) }],
  ])("answers 400 naming %s and changes nothing", async (name, fields) => {
    const role = await aRole(stack.sql);

    const { body } = await unchanged(stack, () => edit(role.id, { name: "Valid", ...fields }));

    expect(body).toEqual(invalidParameter(name));
  });

  it("answers 200 to the maximum length of a description and the maximum number of permissions", async () => {
    const role = await aRole(stack.sql, "view-users");
    const removed_permissions = [await permissionId(stack.sql, "view-users"), ...Array(499).fill(999_999)];

    const { body } = await edit(role.id, { name: role.name, description: "d".repeat(2_000), removed_permissions });

    expect(body).toEqual(updated);
    expect(await permissionIdsOf(stack.sql, role)).toEqual([]);
  });

  it("answers 403 and adds no permission that the caller lacks, to any role", async () => {
    const [own = 0] = await roleIdsOf(stack.sql, editor);
    const role = await aRole(stack.sql);

    for (const id of [own, await defaultRoleId(stack.sql), role.id]) {
      const { body } = await unchanged(stack, () => edit(id, { name: "Climber", added_permissions: [held, lacked] }));
      expect(body).toEqual(forbidden);
    }
  });

  it("answers 403 and keeps the permissions of the Administrator role, which may be renamed like others", async () => {
    const administrator = await anAdministrator(stack.sql);
    const [id = 0] = await roleIdsOf(stack.sql, administrator);
    const foreign = await aPermission(stack.sql);
    const change = (fields: object) => edit(id, { name: "Administrator", ...fields }, administrator.token);

    const { body } = await unchanged(stack, () => change({ removed_permissions: [foreign.id, lacked] }));
    expect(body).toEqual(forbidden);

    expect((await change({ added_permissions: [foreign.id] })).body).toEqual(updated);
    expect((await change({ removed_permissions: [foreign.id] })).body).toEqual(updated);
    expect((await change({ name: "Chief" })).body).toEqual(updated);
    expect((await change({})).body).toEqual(updated);
  });
});
