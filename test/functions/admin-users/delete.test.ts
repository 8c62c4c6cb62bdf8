import { describe, expect, it } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { envelope, forbidden } from "../../support/envelope.ts";
import { anAdministrator, aUser, holderOf } from "../../support/people.ts";
import { aRole, give, lock, lockHolderOf, roleIdsOf } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const stack = useStack();
const remover = useHolder(stack, "delete-users");

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

  it("answers 200 to callers who delete themselves", async () => {
    const user = await holderOf(stack.sql, "delete-users");

    expect((await remove(user.id, user.token)).body).toEqual(deleted);
    expect((await remove(user.id, user.token)).body).toEqual(missing);
  });

  it("answers 403 and deletes nobody who holds all permissions of the caller and more", async () => {
    const administrator = await anAdministrator(stack.sql);
    const slightlyMore = await holderOf(stack.sql, "delete-users", "view-contributors");

    for (const { id } of [administrator, slightlyMore]) {
      expect((await unchanged(stack, () => remove(id))).body).toEqual(forbidden);
    }
  });
});
