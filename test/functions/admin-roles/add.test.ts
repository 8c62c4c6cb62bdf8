import { describe, expect, it } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { envelope, invalidParameter } from "../../support/envelope.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const adder = useHolder(stack, "add-roles");

const add = (body: unknown, as = adder.token) => stack.call("admin-roles/add", { as, body });
const role = { name: "Proofreader", description: "Reads what others wrote" };

describe("POST /admin-roles/add", () => {
  it("answers 200 and adds a role that permits nothing", async () => {
    const { body } = await add({ name: " Librarian ", description: "Looks after books" });

    expect(body).toEqual(envelope(200, "Role added"));
    const found = await stack.sql`
      select name, description, is_default, key, (select count(*) from role_permissions where role_id = roles.id) as held
      from roles
      where name like '%Librarian%'
    `;
    expect(found).toEqual([{ name: "Librarian", description: "Looks after books", is_default: 0, key: null, held: 0 }]);
  });

  it("answers 200 and ignores is_default, key and permissions from the client", async () => {
    await add({
      name: "Climber",
      description: "d",
      id: 1,
      is_default: 1,
      key: "administrator",
      permissions: [1],
      added_permissions: [1],
    });

    const [found] = await stack.sql`select id, is_default, key from roles where name = 'Climber'`;
    expect(found).toMatchObject({ is_default: 0, key: null });
    expect(await stack.sql`select from role_permissions where role_id = ${found?.id}`).toHaveLength(0);
  });

  it("answers 400 with the name of a parameter that is too long or cannot be stored", async () => {
    expect((await add({ ...role, name: "n".repeat(256) })).body).toEqual(invalidParameter("name"));
    expect((await add({ ...role, name: ` ${"n".repeat(255)}` })).body).toEqual(invalidParameter("name"));
    expect((await add({ ...role, description: "d".repeat(2_001) })).body).toEqual(invalidParameter("description"));
    expect((await add({ ...role, description: "\ud800" })).body).toEqual(invalidParameter("description"));
  });
});
