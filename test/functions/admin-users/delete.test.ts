import { beforeAll, describe, expect, it } from "vitest";
import { envelope, forbidden, unauthorized } from "../../support/envelope.ts";
import { anAdministrator, aUser, holderOf, type Person } from "../../support/people.ts";
import { aRole, give, lock, lockHolderOf, roleIdsOf } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const stack = useStack();
let remover: Person;

beforeAll(async () => {
  remover = await holderOf(stack.sql, "delete-users");
});

const remove = (id: number | string, as: string | undefined = remover.token) =>
  stack.call("admin-users/delete", { as, path: { id } });
const exists = async ({ id }: { id: number }) => (await stack.sql`select from users where id = ${id}`).length === 1;

const deleted = envelope(200, "User deleted");
const missing = envelope(404, "User not found");

describe("DELETE /admin-users/delete/{id}", () => {
  it("answers 200 and deletes the user with roles and locks", async () => {
    const user = await aUser(stack.sql);
    const [editor, edited] = [await aUser(stack.sql), await aUser(stack.sql)];
    await give(stack.sql, user, await aRole(stack.sql));
    await lock(stack.sql, user, editor);
    await lock(stack.sql, edited, user);

    const { body } = await remove(user.id);

    expect(body).toEqual(deleted);
    expect(await exists(user)).toBe(false);
    expect(await roleIdsOf(stack.sql, user)).toEqual([]);
    expect(await lockHolderOf(stack.sql, user)).toBeUndefined();
    expect(await lockHolderOf(stack.sql, edited)).toBeUndefined();
  });

  it("answers 200 and lists the image for removal", async () => {
    const user = await aUser(stack.sql);
    await stack.sql`update users set image = 'users/gone.webp' where id = ${user.id}`;

    await remove(user.id);

    expect(
      await stack.sql`select remove_after <= now() as due from images_to_remove where key = 'users/gone.webp'`,
    ).toEqual([{ due: true }]);
  });

  it("answers 200, and a session of the deleted user permits nothing any more", async () => {
    const user = await holderOf(stack.sql, "delete-users", "view-users");
    const victim = await aUser(stack.sql);

    await remove(user.id, (await anAdministrator(stack.sql)).token);

    expect((await remove(victim.id, user.token)).body).toEqual(missing);
    expect((await stack.call("admin-users/list", { as: user.token })).body).toEqual(unauthorized);
    expect(await exists(victim)).toBe(true);
  });

  it("answers 200 to callers who delete themselves", async () => {
    const user = await holderOf(stack.sql, "delete-users");

    expect((await remove(user.id, user.token)).body).toEqual(deleted);
    expect((await remove(user.id, user.token)).body).toEqual(missing);
  });

  it("answers 200 or 404 to two who delete each other, and leaves nothing of either", async () => {
    for (let round = 0; round < 5; round++) {
      const [left, right] = [await holderOf(stack.sql, "delete-users"), await holderOf(stack.sql, "delete-users")];
      await lock(stack.sql, left, right);
      await lock(stack.sql, right, left);

      const replies = await Promise.all([remove(left.id, right.token), remove(right.id, left.token)]);

      const remaining = [await exists(left), await exists(right)].filter(Boolean);
      expect(replies.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(2 - remaining.length);
      expect(replies.every(({ status }) => status === 200 || status === 404)).toBe(true);
    }
    expect(await stack.sql`select from user_roles where user_id not in (select id from users)`).toHaveLength(0);
    expect(await stack.sql`select tally from tallies where subject = 'users'`).toEqual(
      await stack.sql`select count(*) as tally from users`,
    );
  });

  it("answers 200 when the user holds other permissions, but not all of the caller's", async () => {
    const other = await holderOf(stack.sql, "view-contributors", "edit-contributors");

    expect((await remove(other.id)).body).toEqual(deleted);
  });

  it("answers 403 and deletes nobody who holds all permissions of the caller and more", async () => {
    const administrator = await anAdministrator(stack.sql);
    const slightlyMore = await holderOf(stack.sql, "delete-users", "view-contributors");

    for (const { id } of [administrator, slightlyMore]) {
      expect((await unchanged(stack, () => remove(id))).body).toEqual(forbidden);
    }
  });

  it("answers 403 and keeps the last administrator, who may not delete themselves either", async () => {
    await stack.sql`delete from users where id in (select user_id from user_roles join roles on id = role_id where key = 'administrator')`;
    const last = await anAdministrator(stack.sql);

    expect((await unchanged(stack, () => remove(last.id, last.token))).body).toEqual(forbidden);

    const next = await anAdministrator(stack.sql);
    expect((await remove(last.id, next.token)).body).toEqual(deleted);
  });

  it("answers 404 for a user who is not there", async () => {
    for (const id of [999_999, "administrator"]) {
      expect((await unchanged(stack, () => remove(id))).body).toEqual(missing);
    }
  });

  it("answers 404 to all but one of several who delete a user at once", async () => {
    const user = await aUser(stack.sql);

    const replies = await Promise.all(Array.from({ length: 8 }, () => remove(user.id)));

    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ status }) => status === 404)).toHaveLength(7);
  });
});
