import { describe, expect, it } from "vitest";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

const createUser = (payload: object) => stack.lambda.invoke("ops-create-user", payload);
const issue = (payload: object) => stack.lambda.invoke("ops-issue-refresh-token", payload);

async function tokenOf(username: string): Promise<string> {
  const invocation = await issue({ username, days: 1 });
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  return (invocation.result as { refreshToken: string }).refreshToken;
}

describe("The first administrator", () => {
  it("is made by two functions and may do everything", async () => {
    expect(await createUser({ username: "Ada Lovelace", roles: ["administrator"] })).toEqual({
      result: { id: 1, username: "Ada Lovelace", slug: "ada-lovelace" },
    });

    const token = await tokenOf("ADA LOVELACE");

    const { body } = await stack.call("admin-users/id", { as: token, path: { id: 1 } });
    expect(body).toMatchObject({ logged_in: true, roles: [{ name: "Administrator" }] });
  });

  it("can be replaced by another after the role was renamed and another one got its name", async () => {
    const token = await tokenOf("Ada Lovelace");
    const { body: roles } = await stack.call("admin-roles/list", { as: token });
    const { id } = roles.find(({ name }: { name: string }) => name === "Administrator");
    await stack.call("admin-roles/edit", { as: token, path: { id }, body: { name: "Editor in chief" } });
    await stack.call("admin-roles/add", { as: token, body: { name: "Administrator", description: "May do nothing" } });

    await createUser({ username: "Hedy", roles: ["Administrator"] });

    const { body: users } = await stack.call("admin-users/list", {
      as: await tokenOf("Hedy"),
      query: { search: "hedy" },
    });
    expect(users.users[0].roles).toMatchObject([{ id, name: "Editor in chief" }]);
  });
});

describe("ops-create-user", () => {
  it("gives users without roles the default one, and a role once that is listed twice", async () => {
    await createUser({ username: "Plain" });
    await createUser({ username: "Twice", roles: ["Reader", "reader "] });

    const rows = await stack.sql`
      select username || ' ' || roles.name as held
      from users join user_roles on user_id = users.id join roles on roles.id = role_id
      where username in ('Plain', 'Twice')
      order by 1
    `;
    expect(rows.map(({ held }) => held)).toEqual(["Plain Reader", "Twice Reader"]);
  });

  it.each([
    [{ username: "New", roles: ["Reader", "Nobody"] }, "A role in `roles` does not exist"],
    [{ username: " plain " }, "The username is taken"],
    [{ roles: "x" }, expect.stringContaining("username")],
  ])("fails for %j, and adds nobody", async (payload, errorMessage) => {
    const before = await stack.sql`select id from users order by id`;

    expect(await createUser(payload)).toMatchObject({ error: { errorMessage } });

    expect(await stack.sql`select id from users order by id`).toEqual(before);
  });
});

describe("ops-issue-refresh-token", () => {
  it("returns a random token and its expiry time", async () => {
    const invocation = await issue({ username: "Plain", days: 30 });

    expect(invocation).toMatchObject({
      result: { refreshToken: expect.stringMatching(/^[\w-]{43}$/), expires: expect.any(String) },
    });
    const { expires } = (invocation as { result: { expires: string } }).result;
    expect(Date.parse(expires) - Date.now()).toBeCloseTo(30 * 86_400_000, -5);
  });

  it.each([
    { username: "Nobody", days: 1 },
    { username: "Plain", days: 0 },
    { username: "Plain", days: 366 },
    { days: 1 },
  ])("fails for %o", async (payload) => {
    expect(await issue(payload)).toHaveProperty("error");
  });
});

describe("A function that fails", () => {
  it("reports the line of its TypeScript source", async () => {
    stack.dataApi.intercept(() => ({ kind: "error", status: 400, type: "BadRequestException" }));

    const failed = await createUser({ username: "Grace" });

    stack.dataApi.intercept(undefined);
    expect(failed).toMatchObject({
      error: { trace: expect.arrayContaining([expect.stringMatching(/lib\/data-api\/change\.ts:\d+:\d+\)?$/)]) },
    });
  });
});
