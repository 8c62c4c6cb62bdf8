import { describe, expect, it } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { envelope, forbidden, invalidParameter } from "../../support/envelope.ts";
import { anAdministrator, aUser, holderOf } from "../../support/people.ts";
import { aPermission, aRole, defaultRoleId, give, lock, lockHolderOf, roleIdsOf } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const stack = useStack();
const editor = useHolder(stack, "edit-users");

const edit = (id: number | string, body: unknown, as: string | undefined = editor.token) =>
  stack.call("admin-users/edit", { as, path: { id }, body });
const rowOf = async ({ id }: { id: number }) =>
  (await stack.sql`select username, slug, age_verified from users where id = ${id}`)[0];

const updated = envelope(200, "User updated");

describe("POST /admin-users/edit/{id}", () => {
  it("answers 200 and changes name and age verification, not the slug", async () => {
    const user = await aUser(stack.sql, "Before");

    const { body } = await edit(user.id, { username: " After ", age_verified: true, slug: "after", id: 1 });

    expect(body).toEqual(updated);
    expect(await rowOf(user)).toEqual({ username: "After", slug: "before", age_verified: true });
  });

  it("answers 200 and sets missing fields to their defaults", async () => {
    const user = await aUser(stack.sql, "Verified once");
    const role = await aRole(stack.sql);
    await give(stack.sql, user, role);
    await stack.sql`update users set age_verified = true where id = ${user.id}`;

    await edit(user.id, { username: "verified ONCE", added_roles: null });

    expect(await rowOf(user)).toMatchObject({ username: "verified ONCE", age_verified: false });
    expect(await roleIdsOf(stack.sql, user)).toEqual([role.id]);
  });

  it("answers 200 and adds and removes roles; one in both lists is removed", async () => {
    const user = await aUser(stack.sql);
    const [kept, lost, won, both] = [
      await aRole(stack.sql),
      await aRole(stack.sql),
      await aRole(stack.sql),
      await aRole(stack.sql),
    ];
    await give(stack.sql, user, kept, lost);

    const { body } = await edit(user.id, {
      username: user.username,
      added_roles: [kept.id, won.id, both.id, String(won.id)],
      removed_roles: [lost.id, both.id, 999_999],
    });

    expect(body).toEqual(updated);
    expect(await roleIdsOf(stack.sql, user)).toEqual([kept.id, won.id]);
  });

  it("answers 200 and gives the default role to a user who would have none", async () => {
    const user = await aUser(stack.sql);
    const [last, next] = [await aRole(stack.sql), await aRole(stack.sql)];
    await give(stack.sql, user, last);

    await edit(user.id, { username: user.username, removed_roles: [last.id] });
    expect(await roleIdsOf(stack.sql, user)).toEqual([await defaultRoleId(stack.sql)]);

    await edit(user.id, {
      username: user.username,
      added_roles: [next.id],
      removed_roles: [await defaultRoleId(stack.sql)],
    });
    expect(await roleIdsOf(stack.sql, user)).toEqual([next.id]);
  });

  it("answers 200 and releases the caller's lock, nobody else's", async () => {
    const [own, others] = [await aUser(stack.sql), await aUser(stack.sql)];
    const other = await aUser(stack.sql);
    await lock(stack.sql, own, editor);
    await lock(stack.sql, others, other);

    expect((await edit(own.id, { username: own.username })).body).toEqual(updated);
    expect((await edit(others.id, { username: others.username })).body).toEqual(updated);

    expect(await lockHolderOf(stack.sql, own)).toBeUndefined();
    expect(await lockHolderOf(stack.sql, others)).toBe(other.id);
  });

  it("answers 200 to callers who grant only permissions that they hold", async () => {
    const granter = await holderOf(stack.sql, "edit-users", "view-roles");
    const user = await aUser(stack.sql);
    const role = await aRole(stack.sql, "view-roles");
    const foreign = await aPermission(stack.sql);
    await stack.sql`insert into role_permissions (role_id, permission_id) values (${role.id}, ${foreign.id})`;

    const { body } = await edit(user.id, { username: user.username, added_roles: [role.id] }, granter.token);

    expect(body).toEqual(updated);
    expect(await roleIdsOf(stack.sql, user)).toEqual([role.id]);
  });

  it.each([
    ["username", { username: "n".repeat(256) }],
    ["age_verified", { age_verified: "yes" }],
    ["added_roles", { added_roles: "1" }],
    ["added_roles", { added_roles: [0] }],
    ["added_roles", { added_roles: [999_999] }],
    ["removed_roles", { removed_roles: [{ id: 1 }] }],
    ["removed_roles", { removed_roles: Array(201).fill(1) }],
  ])("answers 400 naming %s and changes nothing", async (name, fields) => {
    const user = await aUser(stack.sql);

    const { body } = await unchanged(stack, () => edit(user.id, { username: "Valid", ...fields }));

    expect(body).toEqual(invalidParameter(name));
  });

  it("answers 403 and changes nothing when a granted role has a permission that the caller lacks", async () => {
    const accomplice = await aUser(stack.sql);
    const role = await aRole(stack.sql, "edit-users", "delete-users");

    for (const id of [accomplice.id, editor.id]) {
      const { body } = await unchanged(stack, () => edit(id, { username: "Climber", added_roles: [role.id] }));
      expect(body).toEqual(forbidden);
    }
  });

  it("answers 403 and changes nothing of a user who holds all permissions of the caller and more", async () => {
    const administrator = await anAdministrator(stack.sql);
    const [role = 0] = await roleIdsOf(stack.sql, administrator);

    for (const body of [{ username: "Renamed" }, { username: administrator.username, removed_roles: [role] }]) {
      const reply = await unchanged(stack, () => edit(administrator.id, body));
      expect(reply.body).toEqual(forbidden);
    }
  });

  it("answers 404 or 200, and never makes half of the change, while the user is being deleted", async () => {
    const administrator = await anAdministrator(stack.sql);
    const role = await aRole(stack.sql);
    for (let round = 0; round < 5; round++) {
      const user = await aUser(stack.sql);
      const as = administrator.token;

      const replies = await Promise.all([
        ...Array.from({ length: 5 }, () => edit(user.id, { username: user.username, added_roles: [role.id] }, as)),
        stack.call("admin-users/delete", { as, path: { id: user.id } }),
        ...Array.from({ length: 5 }, () => edit(user.id, { username: user.username, added_roles: [role.id] }, as)),
      ]);

      for (const { status } of replies) expect([200, 404]).toContain(status);
      expect(await roleIdsOf(stack.sql, user)).toEqual([]);
    }
  });
});
