import { describe, expect, it } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { aUser } from "../../support/people.ts";
import { aRole, give } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const viewer = useHolder(stack, "view-roles");

const list = () => stack.call("admin-roles/list", { as: viewer.token });

describe("GET /admin-roles", () => {
  it("answers 200 with every role and the number of its permissions and users", async () => {
    const role = await aRole(stack.sql, "view-users", "edit-users");
    const bare = await aRole(stack.sql);
    await stack.sql`update roles set description = null where id = ${bare.id}`;
    for (const user of [await aUser(stack.sql), await aUser(stack.sql), await aUser(stack.sql)])
      await give(stack.sql, user, role);

    const { status, body } = await list();

    expect(status).toBe(200);
    expect(body).toHaveLength((await stack.sql`select from roles`).length);
    expect(body.slice(-2)).toEqual([
      { id: role.id, name: role.name, description: "Made for a test", permission_count: 2, user_count: 3 },
      { id: bare.id, name: bare.name, description: null, permission_count: 0, user_count: 0 },
    ]);
  });

  it("answers 200 with the right number of users after each change", async () => {
    const role = await aRole(stack.sql);
    const users = [await aUser(stack.sql), await aUser(stack.sql)];
    for (const user of users) await give(stack.sql, user, role);
    const count = async () => (await list()).body.find(({ id }: { id: number }) => id === role.id).user_count;
    expect(await count()).toBe(2);

    await stack.sql`delete from users where id = ${users[0]?.id ?? 0}`;

    expect(await count()).toBe(1);
  });
});
