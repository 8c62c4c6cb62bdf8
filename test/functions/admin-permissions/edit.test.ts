import { describe, expect, it } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { envelope, forbidden } from "../../support/envelope.ts";
import { holderOf } from "../../support/people.ts";
import { aPermission, permissionId } from "../../support/records.ts";
import { type Request, useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const stack = useStack();
const editor = useHolder(stack, "edit-permissions");

const edit = (id: number | string, request: Request) =>
  stack.call("admin-permissions/edit", { ...request, path: { id } });
const rowOf = async (id: number) =>
  (await stack.sql`select key, name, description from permissions where id = ${id}`)[0];

const body = { name: "New name", description: "New description" };

describe("POST /admin-permissions/edit/{id}", () => {
  it("answers 200 and changes name and description", async () => {
    const { id } = await aPermission(stack.sql);

    const reply = await edit(id, { as: editor.token, body: { ...body, key: "delete-users" } });

    expect(reply.body).toEqual(envelope(200, "Permission updated"));
    expect(await rowOf(id)).toEqual({ key: null, ...body });
  });

  it("answers 200 when only the case of the name changes", async () => {
    const { id, name } = await aPermission(stack.sql);

    const { status } = await edit(id, { as: editor.token, body: { name: name.toUpperCase(), description: "d" } });

    expect(status).toBe(200);
    expect(await rowOf(id)).toMatchObject({ name: name.toUpperCase() });
  });

  it("answers 200, and a renamed permission keeps its effect", async () => {
    const viewer = await holderOf(stack.sql, "view-roles");
    const both = await holderOf(stack.sql, "edit-permissions", "view-roles");
    const id = await permissionId(stack.sql, "view-roles");
    const rename = (name: string) => edit(id, { as: both.token, body: { name, description: "d" } });

    expect((await rename("put aside")).status).toBe(200);

    expect((await stack.call("admin-roles/list", { as: viewer.token })).status).toBe(200);
    expect(await rowOf(id)).toMatchObject({ key: "view-roles", name: "put aside" });
    expect((await rename("View-Roles")).status).toBe(200);
  });

  it("answers 409 for the original name of another permission of this service, whether that is there or not", async () => {
    const [{ id }, own] = [await aPermission(stack.sql), await permissionId(stack.sql, "edit-permissions")];
    await stack.sql`update permissions set name = 'renamed' where key = 'add-roles'`;
    await stack.sql`delete from permissions where key = 'delete-contributors'`;

    for (const name of ["add-roles", "Delete-Contributors"])
      for (const each of [id, own]) {
        const attempt = () => edit(each, { as: editor.token, body: { name, description: "d" } });
        expect((await unchanged(stack, attempt)).body).toEqual(
          envelope(409, "Permission with the same name already exists"),
        );
      }
  });

  it("answers 403 and changes nothing when the caller lacks the permission", async () => {
    const id = await permissionId(stack.sql, "delete-users");

    const { body } = await unchanged(stack, () =>
      edit(id, { as: editor.token, body: { name: "harmless", description: "d" } }),
    );

    expect(body).toEqual(forbidden);
  });
});
