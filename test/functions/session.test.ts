import { createHash } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { permissions } from "../../lib/contract/permissions.ts";
import { clientFor } from "../support/client.ts";
import { envelope, forbidden, unauthorized } from "../support/envelope.ts";
import { imageBaseUrl } from "../support/environment.ts";
import { anAdministrator, aSession, aUser, holderOf, type Person } from "../support/people.ts";
import { aPermission, aRole, give } from "../support/records.ts";
import {
  aLinkedUser,
  attemptOf,
  attemptsIn,
  type Browser,
  begin,
  choose,
  expectPage,
  openBrowser,
  signIn,
} from "../support/sign-in.ts";
import { signInPanel, useStack } from "../support/stack.ts";
import { unchanged, whileDatabaseFails } from "../support/unchanged.ts";

const users = ["ada", "grace", "stranger"].map((name) => ({ name, email: `${name}@example.com`, description: "" }));
let variables: Readonly<Record<string, string>> = {};
const stack = useStack({ signIn: users, variables: () => variables });
let ada: Person;
let grace: Person;
let user: Person;

beforeAll(async () => {
  ada = await aLinkedUser(stack, `${stack.url}/provider`, "ada");
  grace = await aLinkedUser(stack, `${stack.url}/provider`, "grace");
});

beforeEach(async () => {
  user = await aUser(stack.sql);
});

const session = (as?: string, headers: Readonly<Record<string, string>> = {}) => stack.call("session", { as, headers });
const sessionOf = async ({ cookies }: Browser) => (await session(cookies.get("refreshToken"))).body;

describe("GET /sign-in", () => {
  it("returns 302 to the provider, with new values that bind its response to this browser and this attempt", async () => {
    const browser = openBrowser();

    const [other, address] = [await begin(stack, openBrowser()), await begin(stack, browser, "/users?page=2")];

    const { code_challenge, state, nonce, ...others } = Object.fromEntries(address.searchParams);
    expect(address.origin + address.pathname).toBe(`${stack.url}/provider/auth`);
    expect(others).toEqual({
      client_id: "colophon",
      response_type: "code",
      redirect_uri: `${stack.url}/sign-in/callback`,
      scope: "openid email",
      code_challenge_method: "S256",
    });
    expect([...browser.cookies.keys()]).toEqual([attemptOf(browser)]);
    const [text = ""] = (browser.cookies.get(attemptOf(browser)) ?? "").split(".");
    const content = attemptOf(browser) + Buffer.from(text, "base64url");
    const values = Object.entries({ code_challenge, state, nonce });
    expect(new Set(values.map(([, value]) => value)).size).toBe(3);
    for (const [name, value] of values) {
      expect(value).toMatch(/^[\w-]{43}$/);
      expect(value).not.toBe(other.searchParams.get(name));
      // The cookie does not show it.
      expect(content).not.toContain(value);
      expect(createHash("sha256").update(content).digest("base64url")).not.toBe(value);
    }
  });

  it("sets a cookie that scripts cannot read, for ten minutes, and that no cache keeps", async () => {
    const { headers } = await openBrowser().get(`${stack.url}/sign-in`);

    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^signIn-[\da-f]{12}=[\w-]+\.[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("access-control-allow-origin")).toBeNull();
  });

  it("keeps the attempts of other windows, and gives the oldest up before a request could get too long", async () => {
    const browser = openBrowser();
    const begun = new Set<string>();
    for (let count = 0; count < 40; count++) {
      await begin(stack, browser, `/${"a".repeat(count % 10 ? 20 : 1_499)}`);

      const attempts = attemptsIn(browser);
      for (const name of attempts) begun.add(name);
      expect([...begun].slice(-attempts.length)).toEqual(attempts);
      expect(attempts.length).toBeGreaterThanOrEqual(Math.min(2, begun.size));
      expect([...browser.cookies].flat().join("").length).toBeLessThan(5_000);
    }

    expect([begun.size, attemptsIn(browser).length > 5]).toEqual([40, true]);
  });

  const manyCookies = Array.from({ length: 400 }, (_, n) => `signIn-${String(n).padStart(12, "0")}=`).join(";");

  it.each([
    {
      what: "of another form",
      cookies: `signIn-a b=${"x".repeat(4_700)}; signIn-é=1; signIn-=2; signIn-0123456789abc=3`,
      max: 1,
    },
    { what: "as many as fit into a request", cookies: manyCookies, max: 31 },
  ])("returns 302 to cookies that no browser got here: $what", async ({ cookies, max }) => {
    const Cookie = Buffer.from(cookies).toString("latin1");
    const response = await openBrowser().get(`${stack.url}/sign-in`, { Cookie });

    expect(response.status).toBe(302);
    expect(response.headers.getSetCookie().length).toBeLessThanOrEqual(max);
  });
});

describe("GET /sign-in/callback", () => {
  it("returns 302 to the panel, with a session of thirty days and without the attempt", async () => {
    const browser = openBrowser();
    browser.cookies.set("refreshToken", "set-by-another-site");

    const response = await signIn(stack, browser, "ada");

    expect([response.status, response.headers.get("location")]).toEqual([302, signInPanel]);
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^refreshToken=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/),
      expect.stringMatching(/^signIn-[\da-f]{12}=; Max-Age=0; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    expect(attemptsIn(browser)).toEqual([]);
    const { user, expires } = await sessionOf(browser);
    expect(user.id).toBe(ada.id);
    expect((Date.parse(expires) - Date.now()) / 86_400_000).toBeCloseTo(30, 1);
    const [change] = await stack.sql`select endpoint, caller_id, result from changes order by id desc limit 1`;
    expect(change).toMatchObject({ endpoint: "sign-in/callback", caller_id: ada.id });
    expect(Date.parse(change?.result)).toBe(Date.parse(expires));
  });

  it("returns 302 to each of several windows that have begun at once, with a session for whom each has chosen", async () => {
    const browser = openBrowser();
    const [one, other] = [await begin(stack, browser, "/one"), await begin(stack, browser, "/other")];
    const addresses = [await choose(browser, other, "grace"), await choose(browser, one, "ada")];

    const seen = [];
    for (const address of addresses) {
      const location = (await browser.get(address)).headers.get("location");
      seen.push([location, (await sessionOf(browser)).user.id]);
    }

    expect(seen).toEqual([
      ["https://panel.example.com/other", grace.id],
      ["https://panel.example.com/one", ada.id],
    ]);
    expect(attemptsIn(browser)).toEqual([]);
  });

  it("returns 403 to an unknown person, shows nothing else, and begins again for the same page", async () => {
    const browser = openBrowser();
    const response = await unchanged(stack, () => signIn(stack, browser, "stranger", "/users?page=2#last"));

    const html = await expectPage(response, 403, "You are not signed in");
    expect(html).not.toMatch(/stranger|ada|@/);
    expect(html).toContain(`href="${stack.url}/sign-in?to=%2Fusers%3Fpage%3D2%23last"`);
    expect([browser.cookies.has("refreshToken"), attemptsIn(browser)]).toEqual([false, []]);
  });
});

describe("GET /session", () => {
  it("returns 200 with the user, the permissions they hold, and the end of this session", async () => {
    const person = await aUser(stack.sql, "Ada Whole");
    await stack.sql`update users set image = 'users/ada.webp' where id = ${person.id}`;
    const [one, other] = [await aRole(stack.sql, "view-roles", "add-roles"), await aRole(stack.sql, "view-roles")];
    await give(stack.sql, person, one);
    await give(stack.sql, person, other);
    const token = await aSession(stack.sql, person.id);
    await stack.sql`
      update refresh_tokens set expires_at = '2096-11-20 12:15:00.5+02' where digest = sha256(${token}::bytea)
    `;

    const { status, body } = await session(token);

    expect(status).toBe(200);
    expect(JSON.stringify(body)).toBe(
      JSON.stringify({
        user: {
          id: person.id,
          slug: "ada-whole",
          username: "Ada Whole",
          profile_image: `${imageBaseUrl}/users/ada.webp`,
        },
        permissions: ["view-roles", "add-roles"],
        expires: "2096-11-20T10:15:00.500Z",
      }),
    );
  });

  it("returns 200 with all fifteen permissions in the contract's order to an administrator", async () => {
    const { token } = await anAdministrator(stack.sql);

    expect((await session(token)).body.permissions).toEqual(Object.keys(permissions));
  });

  it("returns 200 without permissions and image to a plain user", async () => {
    expect((await session(user.token)).body).toMatchObject({ user: { profile_image: null }, permissions: [] });
  });

  it("returns 200 without permissions of other services", async () => {
    const foreign = await aPermission(stack.sql);
    const viewer = await holderOf(stack.sql, "view-roles");
    await stack.sql`
      insert into role_permissions (role_id, permission_id)
      select role_id, ${foreign.id} from user_roles where user_id = ${viewer.id}
    `;

    expect((await session(viewer.token)).body.permissions).toEqual(["view-roles"]);
  });

  it("returns 200 with the key of a permission that was renamed", async () => {
    const viewer = await holderOf(stack.sql, "view-roles");
    await stack.sql`update permissions set name = 'Look at roles' where key = 'view-roles'`;

    expect((await session(viewer.token)).body.permissions).toEqual(["view-roles"]);
  });

  it("returns 200 to a page of the panel, which may read it, by a read that changes nothing", async () => {
    const read = async () => (await clientFor(stack, user).GET("/session")).response;

    expect((await unchanged(stack, read)).status).toBe(200);
  });
});

const signedOut = envelope(200, "Signed out");
const forgetting = ["refreshToken=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax"];

describe("POST /sign-out", () => {
  it("returns 200, and has the cookie forgotten", async () => {
    const { body, headers } = await stack.call("sign-out", { as: user.token });

    expect(body).toEqual(signedOut);
    expect(headers.getSetCookie()).toEqual(forgetting);
  });

  it("ends this session and no other one", async () => {
    const other = await aSession(stack.sql, user.id);

    await stack.call("sign-out", { as: user.token });

    expect((await session(user.token)).body).toEqual(unauthorized);
    expect((await session(other)).status).toBe(200);
  });

  it.each([
    { whom: "a browser without a cookie", tokenOf: () => undefined },
    { whom: "an unknown token", tokenOf: () => "junk" },
    { whom: "a token that is too long", tokenOf: () => "x".repeat(513) },
    {
      whom: "a deleted user",
      tokenOf: async () => {
        const deleted = await aUser(stack.sql);
        await stack.sql`delete from users where id = ${deleted.id}`;
        return deleted.token;
      },
    },
    {
      whom: "a session that has ended",
      tokenOf: async () => {
        await stack.call("sign-out", { as: user.token });
        return user.token;
      },
    },
  ])("returns 200 to $whom, has the cookie forgotten, and leaves no row", async ({ tokenOf }) => {
    const as = await tokenOf();
    const recorded = () => stack.sql`select id from changes`;
    const before = await recorded();

    const { body, headers } = await unchanged(stack, () => stack.call("sign-out", { as }));

    expect([body, headers.getSetCookie()]).toEqual([signedOut, forgetting]);
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

    expect([body, statements]).toEqual([signedOut, 5]);
  });

  it.each([
    {
      setting: "without a domain in the settings, that of the API itself",
      domain: undefined,
      domains: ["; Domain=v1.api.example.com", "; Domain=api.example.com", "; Domain=example.com", ""],
    },
    {
      setting: "with a domain in the settings, that domain",
      domain: "example.com",
      domains: ["", "; Domain=v1.api.example.com", "; Domain=api.example.com", "; Domain=example.com"],
    },
  ])("has the cookie of every domain forgotten, and at last, $setting", async ({ domain, domains }) => {
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
    expect((await clientFor(stack, user).POST("/sign-out")).response.status).toBe(200);
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
