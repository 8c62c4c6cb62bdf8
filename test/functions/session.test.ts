import { beforeEach, describe, expect, it } from "vitest";
import { permissions } from "../../lib/contract/permissions.ts";
import { envelope, forbidden, unauthorized } from "../support/envelope.ts";
import { imageBaseUrl, panelOrigin } from "../support/environment.ts";
import { anAdministrator, aSession, aUser, holderOf, type Person } from "../support/people.ts";
import { aPermission, aRole, give } from "../support/records.ts";
import { useStack } from "../support/stack.ts";
import { unchanged, whileDatabaseFails } from "../support/unchanged.ts";

let variables: Readonly<Record<string, string>> = {};
const stack = useStack({ signIn: [], variables: () => variables });
let user: Person;

beforeEach(async () => {
  user = await aUser(stack.sql);
});

const session = (as?: string, headers: Readonly<Record<string, string>> = {}) => stack.call("session", { as, headers });

describe("GET /session", () => {
  it("returns 200 with the user, the permissions they hold, and the end of this session", async () => {
    const ada = await aUser(stack.sql, "Ada Whole");
    await stack.sql`update users set image = 'users/ada.webp' where id = ${ada.id}`;
    const [one, other] = [await aRole(stack.sql, "view-roles", "add-roles"), await aRole(stack.sql, "view-roles")];
    await give(stack.sql, ada, one);
    await give(stack.sql, ada, other);
    const token = await aSession(stack.sql, ada.id);
    await stack.sql`
      update refresh_tokens set expires_at = '2096-11-20 12:15:00.5+02' where digest = sha256(${token}::bytea)
    `;

    const { status, body } = await session(token);

    expect(status).toBe(200);
    expect(JSON.stringify(body)).toBe(
      JSON.stringify({
        user: {
          id: ada.id,
          slug: "ada-whole",
          username: "Ada Whole",
          profile_image: `${imageBaseUrl}/users/ada.webp`,
        },
        permissions: ["view-roles", "add-roles"],
        expires: "2096-11-20T10:15:00.500Z",
      }),
    );
  });

  it("returns 200 with all fifteen in the contract's order to an administrator, and with none to a plain user", async () => {
    const administrator = await session((await anAdministrator(stack.sql)).token);
    const plain = await session(user.token);

    expect(administrator.body.permissions).toEqual(Object.keys(permissions));
    expect(plain.body).toMatchObject({ user: { profile_image: null }, permissions: [] });
  });

  it("returns 200 without permissions of other services, and with a renamed one by its key", async () => {
    const foreign = await aPermission(stack.sql);
    const viewer = await holderOf(stack.sql, "view-roles");
    await stack.sql`
      insert into role_permissions (role_id, permission_id)
      select role_id, ${foreign.id} from user_roles where user_id = ${viewer.id}
    `;
    await stack.sql`update permissions set name = 'Look at roles' where key = 'view-roles'`;

    expect((await session(viewer.token)).body.permissions).toEqual(["view-roles"]);
  });

  it("returns 200 to a page of the panel, which may read it, by a read that changes nothing", async () => {
    const { status, headers } = await unchanged(stack, () => session(user.token, { Origin: panelOrigin }));

    expect(status).toBe(200);
    expect(headers.get("access-control-allow-origin")).toBe(panelOrigin);
    expect(headers.get("access-control-allow-credentials")).toBe("true");
    expect(headers.get("cache-control")).toBe("no-store");
  });
});

const signedOut = envelope(200, "Signed out");
const forgetting = ["refreshToken=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax"];

describe("POST /sign-out", () => {
  it("returns 200, ends this session and no other one, and has the cookie forgotten", async () => {
    const other = await aSession(stack.sql, user.id);

    const { body, headers } = await stack.call("sign-out", { as: user.token });

    expect(body).toEqual(signedOut);
    expect(headers.getSetCookie()).toEqual(forgetting);
    expect((await session(user.token)).body).toEqual(unauthorized);
    expect((await session(other)).status).toBe(200);
  });

  it("returns 200 and leaves no row to who has no session, or none any more, or has been deleted", async () => {
    const [deleted, recorded] = [await aUser(stack.sql), () => stack.sql`select id from changes`];
    await stack.sql`delete from users where id = ${deleted.id}`;
    await stack.call("sign-out", { as: user.token });
    const before = await recorded();
    for (const as of [undefined, "junk", "x".repeat(513), deleted.token, user.token]) {
      const { body, headers } = await unchanged(stack, () => stack.call("sign-out", { as }));

      expect([body, headers.getSetCookie()]).toEqual([signedOut, forgetting]);
    }
    expect(await recorded()).toEqual(before);
  });

  it("ends all sessions of a browser that has several cookies, of one user or of two", async () => {
    const tokens = [user.token, await aSession(stack.sql, user.id), (await aUser(stack.sql)).token];
    const Cookie = ["unknown", ...tokens].map((token) => `refreshToken=${token}`).join("; ");

    const { body } = await stack.call("sign-out", { headers: { Cookie } });

    expect(body).toEqual(signedOut);
    for (const token of tokens) expect((await session(token)).body).toEqual(unauthorized);
  });

  it("asks the database for no more sessions than a browser can have here", async () => {
    const Cookie = Array.from({ length: 300 }, (_, index) => `refreshToken=${index}`).join("; ");
    let statements = 0;
    stack.dataApi.intercept(() => void statements++);

    const { body } = await stack.call("sign-out", { headers: { Cookie } });

    stack.dataApi.intercept(undefined);
    expect([body, statements]).toEqual([signedOut, 5]);
  });

  it.each([
    [undefined, ["; Domain=v1.api.example.com", "; Domain=api.example.com", "; Domain=example.com", ""]],
    ["example.com", ["", "; Domain=v1.api.example.com", "; Domain=api.example.com", "; Domain=example.com"]],
  ])("has the cookie of every domain forgotten, at last that of the setting: %s", async (domain, domains) => {
    variables = {
      SIGN_IN_API_ADDRESS: "https://v1.api.example.com",
      ...(domain ? { SIGN_IN_COOKIE_DOMAIN: domain } : {}),
    };
    await stack.lambda.renew();

    const { headers } = await stack.call("sign-out", { as: user.token });

    variables = {};
    await stack.lambda.renew();
    expect(headers.getSetCookie()).toEqual(
      domains.map((each) => `refreshToken=; Max-Age=0${each}; Path=/; HttpOnly; Secure; SameSite=Lax`),
    );
  });

  it("returns 200 to a page of the panel, which may read it", async () => {
    const { status, headers } = await stack.call("sign-out", { as: user.token, headers: { Origin: panelOrigin } });

    expect([status, headers.get("access-control-allow-origin")]).toEqual([200, panelOrigin]);
    expect(headers.get("access-control-allow-credentials")).toBe("true");
  });

  it("returns 403 to a page of a foreign origin, and ends nothing", async () => {
    for (const headers of [
      { Origin: "https://evil.example" },
      { Origin: "null" },
      { "Sec-Fetch-Site": "cross-site" },
    ] as const) {
      const reply = await unchanged(stack, () => stack.call("sign-out", { as: user.token, headers: { ...headers } }));

      expect([reply.body, reply.headers.getSetCookie()]).toEqual([forbidden, []]);
    }
    expect((await session(user.token)).status).toBe(200);
  });

  it("returns 500 when the database fails, and leaves the cookie", async () => {
    const { status, headers } = await whileDatabaseFails(stack, () => stack.call("sign-out", { as: user.token }));

    expect([status, headers.getSetCookie()]).toEqual([500, []]);
  });
});
