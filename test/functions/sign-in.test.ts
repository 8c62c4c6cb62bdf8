import { createHash } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import type { Person } from "../support/people.ts";
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
import { unchanged } from "../support/unchanged.ts";

const users = ["ada", "grace", "stranger"].map((name) => ({ name, email: `${name}@example.com`, description: "" }));
const stack = useStack({ signIn: users });
let ada: Person;
let grace: Person;

beforeAll(async () => {
  ada = await aLinkedUser(stack, `${stack.url}/provider`, "ada");
  grace = await aLinkedUser(stack, `${stack.url}/provider`, "grace");
});

const sessionOf = async ({ cookies }: Browser) =>
  (await stack.call("session", { as: cookies.get("refreshToken") })).body;

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
    ["of another form", `signIn-a b=${"x".repeat(4_700)}; signIn-é=1; signIn-=2; signIn-0123456789abc=3`, 1],
    ["as many as fit into a request", manyCookies, 31],
  ])("returns 302 to cookies that no browser got here: %s", async (_, cookies, most) => {
    const Cookie = Buffer.from(cookies).toString("latin1");
    const response = await openBrowser().get(`${stack.url}/sign-in`, { Cookie });

    expect(response.status).toBe(302);
    expect(response.headers.getSetCookie().length).toBeLessThanOrEqual(most);
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
