import { createHmac } from "node:crypto";
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signInArns } from "../../../infra/local/stage/secrets.ts";
import { digestOf } from "../../../lib/http/token.ts";
import { normalPathOf, pathOnPanel } from "../../../lib/sign-in/panel-path.ts";
import { bindingIn, comeBack, type HostileStack, startHostileStack } from "../../support/hostile-provider.ts";
import { attemptOf, type Browser, begin, expectPage, openBrowser } from "../../support/sign-in.ts";
import type { Stack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

/* What a browser brings back, right and wrong: the cookie of the attempt, and where it leads. */

let hostile: HostileStack;
let stack: Stack;
let key: string;
let variables: Readonly<Record<string, string>> = {};

beforeAll(async () => {
  hostile = await startHostileStack({ variables: () => variables });
  ({ stack } = hostile);
  const client = new SecretsManagerClient();
  key = (await client.send(new GetSecretValueCommand({ SecretId: signInArns.key }))).SecretString ?? "";
});

afterAll(() => hostile.close());

it("The session's cookie replaces those of the domains that the stage may have had before", async () => {
  variables = { SIGN_IN_API_ADDRESS: "https://v1.api.example.com", SIGN_IN_COOKIE_DOMAIN: "example.com" };
  await stack.lambda.renew();
  const browser = openBrowser();

  const { headers } = await comeBack(hostile, browser, bindingIn(await begin(stack, browser)));

  variables = {};
  await stack.lambda.renew();
  const deleted = ["", "; Domain=v1.api.example.com", "; Domain=api.example.com"];
  expect(headers.getSetCookie().filter((each) => each.startsWith("refreshToken="))).toEqual([
    ...deleted.map((domain) => `refreshToken=; Max-Age=0${domain}; Path=/; HttpOnly; Secure; SameSite=Lax`),
    expect.stringMatching(/^refreshToken=[^;]+; Max-Age=2592000; Domain=example\.com; Path=/),
  ]);
});

interface Forgery {
  readonly secondsAgo?: number;
  readonly key?: string;
  readonly issuer?: string;
  readonly clientId?: string;
}

/** Comes back with a cookie that is made here; all that is derived from it is right. */
async function comeBackWith(forgery: Forgery): Promise<Response> {
  const { secondsAgo = 0, issuer = hostile.provider.issuer, clientId = "colophon" } = forgery;
  const content = { id: crypto.randomUUID(), startedAt: Date.now() - 1_000 * secondsAgo, to: "" };
  const text = Buffer.from(JSON.stringify(content)).toString("base64url");
  const sign = (purpose: string) =>
    createHmac("sha256", forgery.key ?? key)
      .update(JSON.stringify([purpose, issuer, clientId, text]))
      .digest("base64url");
  const browser = openBrowser();
  browser.cookies.set(`signIn-${digestOf(sign("state")).slice(0, 12)}`, `${text}.${sign("cookie")}`);
  return await comeBack(hostile, browser, { state: sign("state"), nonce: sign("nonce") });
}

const isRefused = (response: Response) => expectPage(response, 400, "Signing in did not work");

describe("The cookie of an attempt", () => {
  it("lasts ten minutes, whatever the browser does with it", async () => {
    expect((await comeBackWith({ secondsAgo: 570 })).status).toBe(302);
  });

  it.each<{ how: string; forgery: Forgery }>([
    { how: "after ten minutes", forgery: { secondsAgo: 601 } },
    { how: "with another key", forgery: { key: "guessed" } },
    { how: "for another provider", forgery: { issuer: "https://other.example" } },
    { how: "for another client", forgery: { clientId: "other" } },
  ])("is worth nothing if it was signed $how, and requests no token", async ({ forgery }) => {
    hostile.provider.requests.length = 0;

    await isRefused(await unchanged(stack, () => comeBackWith(forgery)));

    expect(hostile.provider.requests.filter(({ path }) => path === "/token")).toEqual([]);
  });

  type Attempt = ReturnType<typeof bindingIn> & { readonly cookie: string };
  async function start(browser: Browser): Promise<Attempt> {
    const binding = bindingIn(await begin(stack, browser));
    return { cookie: browser.cookies.get(attemptOf(browser)) ?? "", ...binding };
  }
  const altered = (cookie: string, place: number) =>
    cookie.slice(0, place) + (cookie[place] === "A" ? "B" : "A") + cookie.slice(place + 1);

  it.each<{ what: string; change: (own: Attempt, others: Attempt) => Partial<Attempt> }>([
    { what: "its first character altered", change: ({ cookie }) => ({ cookie: altered(cookie, 0) }) },
    {
      what: "a character of its content altered",
      change: ({ cookie }) => ({ cookie: altered(cookie, cookie.indexOf(".") - 8) }),
    },
    { what: "its signature altered", change: ({ cookie }) => ({ cookie: altered(cookie, cookie.indexOf(".") + 1) }) },
    {
      what: "the end of its signature altered",
      change: ({ cookie }) => ({ cookie: altered(cookie, cookie.length - 2) }),
    },
    { what: "no content", change: ({ cookie }) => ({ cookie: cookie.replace(/^[^.]*/, "") }) },
    { what: "no signature", change: ({ cookie }) => ({ cookie: cookie.replace(/\..*/, "") }) },
    { what: "nothing in it", change: () => ({ cookie: "" }) },
    { what: "other texts in it", change: () => ({ cookie: "a.b.c" }) },
    { what: "the state of another browser's attempt", change: (_, { state, nonce }) => ({ state, nonce }) },
    { what: "another browser's attempt under its name", change: (_, { cookie, nonce }) => ({ cookie, nonce }) },
  ])("is worth nothing with $what", async ({ change }) => {
    const browser = openBrowser();
    const own = await start(browser);
    const name = attemptOf(browser);
    const { cookie, ...binding } = { ...own, ...change(own, await start(openBrowser())) };
    browser.cookies.set(name, cookie);

    await isRefused(await unchanged(stack, () => comeBack(hostile, browser, binding)));

    expect(browser.cookies.has("refreshToken")).toBe(false);
    browser.cookies.set(name, own.cookie);
    expect((await comeBack(hostile, browser, own)).status).toBe(302);
  });
});

const elsewhere = [
  ...["//", "///", "/\\", "\\\\", "\\/", "/%2F", "/%2f", "/%5C", "/%5c", "/./%2f", "/%2e/%2F", "/a/../%5c", "%2F%2F"],
  ...["/..//", "/.//", "/a/..//", "/\t/", "/\n/", "/ /", "/\ufeff/", "/\u2028/", "https://", "https:", "https:/"],
].map((before) => `${before}evil.example`);
elsewhere.push(
  ...["/\r\nSet-Cookie: refreshToken=x", "/\u0000", "/\u202eevil", " /users", "HTTPS://EVIL.EXAMPLE"],
  ...["@evil.example", ".evil.example", ":444/users", "//evil.example", "/%2Fevil.example", "\\evil.example"].map(
    (after) => `https://panel.example.com${after}`,
  ),
  ...["http://panel.example.com/users", "https://PANEL.example.com/users"],
  ...["javascript:alert(1)", "data:text/html,x", "//panel.example.com", "users", "?page=2", "#users", ".", ".."],
  ...[`/${"a".repeat(1_500)}`, `/${"é".repeat(300)}`],
);

describe("The page to come back to", () => {
  it("is none that could lead elsewhere", async () => {
    for (const to of elsewhere) {
      expect([to, pathOnPanel(to, "https://panel.example.com")]).toEqual([to, undefined]);
      const response = await openBrowser().get(`${stack.url}/sign-in?to=${encodeURIComponent(to)}`);
      expect(response.headers.getSetCookie()).toEqual([]);
      const html = await expectPage(response, 400, "This link does not lead back");
      expect(html).toContain(`href="${stack.url}/sign-in"`);
      expect(html).toContain("on https://panel.example.com,");
      expect(response.headers.get("Invalid-Parameters")).toBe('to;reason="invalid"');
    }
  });

  it.each([
    { to: "/", location: "/" },
    { to: "/users?page=2&order=name-asc#last", location: "/users?page=2&order=name-asc#last" },
    { to: "/users?next=https://evil.example", location: "/users?next=https://evil.example" },
    { to: "/größe/日本", location: "/gr%C3%B6%C3%9Fe/%E6%97%A5%E6%9C%AC" },
    { to: "/a//b", location: "/a//b" },
    { to: "/a/../b", location: "/b" },
    { to: "/@evil.example", location: "/@evil.example" },
    { to: "/#/users", location: "/#/users" },
    { to: "https://panel.example.com", location: "/" },
    { to: "https://panel.example.com/users?page=2#last", location: "/users?page=2#last" },
    { to: "https://panel.example.com?page=2", location: "/?page=2" },
    { to: "https://panel.example.com#users", location: "/#users" },
  ])("may be $to", async ({ to, location }) => {
    const browser = openBrowser();
    const response = await comeBack(hostile, browser, bindingIn(await begin(stack, browser, to)));

    expect(response.headers.get("location")).toBe(`https://panel.example.com${location}`);
  });

  it("fits into the cookie, however long it was on its way", async () => {
    const browser = openBrowser();
    await begin(stack, browser, `${"/a/..".repeat(800)}/users`);

    const [content = ""] = (browser.cookies.get(attemptOf(browser)) ?? "").split(".");
    expect(JSON.parse(Buffer.from(content, "base64url").toString())).toMatchObject({ to: "/users" });
  });

  it("is on the panel's origin, whatever is requested", () => {
    const part = fc.oneof(
      fc.constantFrom(..."/ \\ // .. . : @ %2f %5c %00 \t https: evil.example ? #".split(" ")),
      fc.string({ unit: "binary", maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.boolean(), (parts, isPath) => {
        const path = pathOnPanel(
          (isPath ? "/" : "https://panel.example.com") + parts.join(""),
          "https://panel.example.com",
        );
        if (path === undefined) return;
        const address = `https://panel.example.com${path}`;
        expect(new URL(address).origin).toBe("https://panel.example.com");
        expect(new URL(path, "https://panel.example.com/deep/page").href).toBe(address);
        expect(path).toMatch(/^\/(?!\/|\\|%2f|%5c)[\x21-\x7e]*$/i);
        expect(normalPathOf(path)).toBe(path);
      }),
      { numRuns: 5_000 },
    );
  });
});
