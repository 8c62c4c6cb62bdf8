import { describe, expect, it } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { envelope, forbidden, unauthorized } from "../../support/envelope.ts";
import { anAdministrator, aSession, aUser, holderOf } from "../../support/people.ts";
import { lock, lockHolderOf } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const stack = useStack();
const editor = useHolder(stack, "edit-users", "view-users");

const logOut = (id: number | string, as: string | undefined = editor.token) =>
  stack.call("admin-users/logout", { as, path: { id } });
const listUsers = async (as: string) => (await stack.call("admin-users/list", { as, query: { limit: 1 } })).status;

const loggedOut = envelope(200, "User logged out");
const missing = envelope(404, "User not found");

describe("POST /admin-users/logout/{id}", () => {
  it("answers 200 and ends every session of the user, nobody else's", async () => {
    const user = await holderOf(stack.sql, "view-users");
    const tokens = [user.token, await aSession(stack.sql, user.id)];
    for (const token of tokens) expect(await listUsers(token)).toBe(200);

    const { body } = await logOut(user.id);

    expect(body).toEqual(loggedOut);
    for (const token of tokens) expect(await listUsers(token)).toBe(401);
    expect(await listUsers(editor.token)).toBe(200);
  });

  it("answers 200 and releases the user's edit locks", async () => {
    const user = await aUser(stack.sql);
    const [edited, others] = [await aUser(stack.sql), await aUser(stack.sql)];
    await lock(stack.sql, edited, user);
    await lock(stack.sql, others, editor);
    await stack.sql`
      with added as (insert into contributors (first_name, slug) values ('Edited', 'edited') returning id)
      insert into contributor_locks (contributor_id, holder_id, expires_at)
      select id, ${user.id}, now() + interval '5 minutes' from added
    `;

    await logOut(user.id);

    expect(await lockHolderOf(stack.sql, edited)).toBeUndefined();
    expect(await lockHolderOf(stack.sql, others)).toBe(editor.id);
    expect(await stack.sql`select from contributor_locks`).toHaveLength(0);
  });

  it("answers 200 and changes nothing for a user who is not logged in", async () => {
    const user = await aUser(stack.sql);
    await logOut(user.id);

    expect((await unchanged(stack, () => logOut(user.id))).body).toEqual(loggedOut);
  });

  it("answers 200 to callers who log themselves out", async () => {
    const user = await holderOf(stack.sql, "edit-users");

    expect((await logOut(user.id, user.token)).body).toEqual(loggedOut);
    expect((await logOut(user.id, user.token)).body).toEqual(unauthorized);
  });

  it("answers 200 to a moderator who logs an editor out", async () => {
    const other = await holderOf(stack.sql, "view-contributors", "edit-contributors", "add-contributors");

    expect((await logOut(other.id)).body).toEqual(loggedOut);
  });

  it("answers 403 and ends no session of a user who holds all permissions of the caller and more", async () => {
    const administrator = await anAdministrator(stack.sql);
    await lock(stack.sql, await aUser(stack.sql), administrator);

    expect((await unchanged(stack, () => logOut(administrator.id))).body).toEqual(forbidden);
  });

  it("answers 404 when caller or target have been deleted, though their sessions last", async () => {
    const gone = await holderOf(stack.sql, "edit-users");
    const user = await aUser(stack.sql);
    await stack.sql`delete from users where id = ${gone.id}`;

    expect((await unchanged(stack, () => logOut(user.id, gone.token))).body).toEqual(missing);
    expect((await unchanged(stack, () => logOut(gone.id))).body).toEqual(missing);
  });
});
