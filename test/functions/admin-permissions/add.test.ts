import { describe, expect, it } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { aContributor } from "../../support/catalogue.ts";
import { envelope, forbidden, invalidParameter } from "../../support/envelope.ts";
import { anAdministrator, holderOf } from "../../support/people.ts";
import { useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const stack = useStack();
const adder = useHolder(stack, "add-permissions");

const add = (body: unknown, as = adder.token) => stack.call("admin-permissions/add", { as, body });

const taken = envelope(409, "Permission with the same name already exists");

describe("POST /admin-permissions/add", () => {
  it("answers 200 and adds it, without surrounding space", async () => {
    const { body } = await add({ name: " moderate-comments ", description: "Hide comments" });

    expect(body).toEqual(envelope(200, "Permission added"));
    expect(
      await stack.sql`select key, name, description from permissions where name like '%moderate-comments%'`,
    ).toEqual([{ key: null, name: "moderate-comments", description: "Hide comments" }]);
  });

  it("answers 200 and ignores an id and a key from the client", async () => {
    await add({ name: "own-key", description: "d", id: 1, key: "delete-users" });

    expect(await stack.sql`select key, id > 15 as late from permissions where name = 'own-key'`).toEqual([
      { key: null, late: true },
    ]);
  });

  it("answers 409 for the original name of a permission of this service that has been renamed", async () => {
    await stack.sql`update permissions set name = 'renamed' where key = 'view-permissions'`;

    for (const name of ["view-permissions", " View-Permissions", "view-permißions"])
      expect((await unchanged(stack, () => add({ name, description: "Another" }))).body).toEqual(taken);
  });

  it("answers 200 and restores a missing permission of this service, for the Administrator role only", async () => {
    const { sql } = stack;
    const adder = await holderOf(sql, "add-permissions", "delete-contributors");
    const administrator = await anAdministrator(sql);
    const contributor = await aContributor(sql);
    await sql`delete from permissions where key = 'delete-contributors'`;
    const attempt = (as: string) => stack.call("admin-contributors/delete", { as, path: { id: contributor.id } });
    expect((await attempt(administrator.token)).status).toBe(403);

    expect((await add({ name: " Delete-Contributorſ", description: "Back" }, adder.token)).status).toBe(200);

    expect((await attempt(adder.token)).body).toEqual(forbidden);
    expect((await attempt(administrator.token)).status).toBe(200);
    expect((await add({ name: "delete-contributors", description: "Twice" }, adder.token)).body).toEqual(taken);
  });

  it("answers 400 with the name of a parameter that is too long or cannot be stored", async () => {
    expect((await add({ name: "n".repeat(256), description: "d" })).body).toEqual(invalidParameter("name"));
    expect((await add({ name: "n\0", description: "d" })).body).toEqual(invalidParameter("name"));
    expect((await add({ name: "n", description: "d".repeat(2_001) })).body).toEqual(invalidParameter("description"));
  });
});
