import { describe, expect, it } from "vitest";
import { aSession, aUser, holderOf } from "../../support/people.ts";
import { lock, lockHolderOf } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

const end = (payload: object) => stack.lambda.invoke("ops-end-sessions", payload);
const ledger = () => stack.sql`select id from changes order by id`;
const session = async (as: string) => (await stack.call("session", { as })).status;

describe("ops-end-sessions", () => {
  it.each(["id", "name"])("ends all sessions of the user with this %s, nobody else's", async (by) => {
    const [user, other] = [await holderOf(stack.sql, "view-users"), await aUser(stack.sql)];
    const tokens = [user.token, await aSession(stack.sql, user.id)];

    const invocation = await end({ user: by === "id" ? user.id : ` ${user.username.toUpperCase()} ` });

    expect(invocation).toEqual({ result: { user: user.id, username: user.username, sessions: 2 } });
    expect(await Promise.all([...tokens, other.token].map(session))).toEqual([401, 401, 200]);
    expect(await end({ user: user.id })).toMatchObject({ result: { sessions: 0 } });
  });

  it("releases the user's edit locks", async () => {
    const [user, edited] = [await aUser(stack.sql), await aUser(stack.sql)];
    await lock(stack.sql, edited, user);

    await end({ user: user.id });

    expect(await lockHolderOf(stack.sql, edited)).toBeUndefined();
  });

  it.each([
    [{ user: "nobody" }, "There is no such user"],
    [{ user: 999_999 }, "There is no such user"],
    [{ user: 0 }, expect.stringMatching(/^Invalid payload: user: Too small/)],
    [{}, "Invalid payload: user: a user's id or name"],
    [{ user: "nobody", force: true }, 'Invalid payload: payload: Unrecognized key: "force"'],
  ])("refuses %j", async (payload, errorMessage) => {
    const rows = await ledger();

    expect(await end(payload)).toMatchObject({ error: { errorMessage } });

    expect(await ledger()).toEqual(rows);
  });
});
