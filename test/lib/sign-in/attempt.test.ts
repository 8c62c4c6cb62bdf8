import { createHmac } from "node:crypto";
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signInArns } from "../../../infra/local/stage/secrets.ts";
import { normalPathOf } from "../../../lib/contract/panel-path.ts";
import { digestOf } from "../../../lib/http/token.ts";
import { type HostileProvider, startHostileProvider } from "../../support/hostile-provider.ts";
import { aLinkedUser, attemptOf, type Browser, begin, expectPage, openBrowser } from "../../support/sign-in.ts";
import { type Stack, startStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

/* What a browser brings back, right and wrong: the cookie of the attempt, and where it leads. */

let provider: HostileProvider;
let stack: Stack;
let key: string;

beforeAll(async () => {
  provider = await startHostileProvider();
  stack = await startStack({ signIn: provider.issuer });
  await aLinkedUser(stack, provider.issuer, "ada");
  const client = new SecretsManagerClient();
  key = (await client.send(new GetSecretValueCommand({ SecretId: signInArns.key }))).SecretString ?? "";
});

afterAll(async () => {
  await stack.close();
  await provider.close();
});

/** Comes back from the provider, which has signed in Ada for the attempt with this nonce. */
async function comeBack(browser: Browser, state: string, nonce: string): Promise<Response> {
  const seconds = Math.floor(Date.now() / 1000);
  provider.claims = { iss: provider.issuer, aud: "colophon", sub: "ada", nonce, iat: seconds, exp: seconds + 300 };
  return await browser.get(`${stack.url}/sign-in/callback?${new URLSearchParams({ code: "c", state })}`);
}

interface Forgery {
  readonly secondsAgo?: number;
  readonly key?: string;
  readonly issuer?: string;
  readonly clientId?: string;
}

/** Comes back with a cookie that is made here; all that is derived from it is right. */
async function comeBackWith(forgery: Forgery): Promise<Response> {
  const { secondsAgo = 0, issuer = provider.issuer, clientId = "colophon" } = forgery;
  const content = { id: crypto.randomUUID(), startedAt: Date.now() - 1_000 * secondsAgo, to: "" };
  const text = Buffer.from(JSON.stringify(content)).toString("base64url");
  const sign = (purpose: string) =>
    createHmac("sha256", forgery.key ?? key)
      .update(JSON.stringify([purpose, issuer, clientId, text]))
      .digest("base64url");
  const browser = openBrowser();
  browser.cookies.set(`signIn-${digestOf(sign("state")).slice(0, 12)}`, `${text}.${sign("cookie")}`);
  return await comeBack(browser, sign("state"), sign("nonce"));
}

describe("The cookie of an attempt", () => {
  it("lasts ten minutes, whatever the browser does with it", async () => {
    expect((await comeBackWith({ secondsAgo: 570 })).status).toBe(302);

    await expectPage(await comeBackWith({ secondsAgo: 601 }), 400, "Signing in did not work");
  });

  it.each<[string, Forgery]>([
    ["with another key", { key: "guessed" }],
    ["for another provider", { issuer: "https://other.example" }],
    ["for another client", { clientId: "other" }],
  ])("is worth nothing if it was signed %s", async (_, forgery) => {
    const response = await unchanged(stack, () => comeBackWith(forgery));

    await expectPage(response, 400, "Signing in did not work");
  });

  interface Attempt {
    readonly cookie: string;
    readonly state: string;
    readonly nonce: string;
  }
  async function start(browser: Browser): Promise<Attempt> {
    const { searchParams } = await begin(stack, browser);
    const [state = "", nonce = ""] = ["state", "nonce"].map((each) => searchParams.get(each) ?? "");
    return { cookie: browser.cookies.get(attemptOf(browser)) ?? "", state, nonce };
  }
  const altered = (cookie: string, place: number) =>
    cookie.slice(0, place) + (cookie[place] === "A" ? "B" : "A") + cookie.slice(place + 1);

  it.each<[string, (own: Attempt, others: Attempt) => Partial<Attempt>]>([
    ["its first character altered", ({ cookie }) => ({ cookie: altered(cookie, 0) })],
    ["a character of its content altered", ({ cookie }) => ({ cookie: altered(cookie, cookie.indexOf(".") - 8) })],
    [
      "the first character of its signature altered",
      ({ cookie }) => ({ cookie: altered(cookie, cookie.indexOf(".") + 1) }),
    ],
    ["a last character of its signature altered", ({ cookie }) => ({ cookie: altered(cookie, cookie.length - 2) })],
    ["no content", ({ cookie }) => ({ cookie: cookie.replace(/^[^.]*/, "") })],
    ["no signature", ({ cookie }) => ({ cookie: cookie.replace(/\..*/, "") })],
    ["nothing in it", () => ({ cookie: "" })],
    ["a dot in it", () => ({ cookie: "." })],
    ["other texts in it", () => ({ cookie: "a.b.c" })],
    ["the state of another browser's attempt", (_, { state, nonce }) => ({ state, nonce })],
    ["another browser's attempt under its name", (_, { cookie, nonce }) => ({ cookie, nonce })],
  ])("is worth nothing with %s", async (_, change) => {
    const browser = openBrowser();
    const own = await start(browser);
    const { cookie, state, nonce } = { ...own, ...change(own, await start(openBrowser())) };
    browser.cookies.set(attemptOf(browser), cookie);

    const response = await unchanged(stack, () => comeBack(browser, state, nonce));

    await expectPage(response, 400, "Signing in did not work");
    expect(browser.cookies.has("refreshToken")).toBe(false);
    browser.cookies.set(`signIn-${digestOf(own.state).slice(0, 12)}`, own.cookie);
    expect((await comeBack(browser, own.state, own.nonce)).status).toBe(302);
  });

  it("leaves no row behind and requests no token, however many come back that never began", async () => {
    const recorded = async () => [
      await stack.sql`select count(*) from changes union all select count(*) from refresh_tokens`,
      provider.requests.filter(({ path }) => path === "/token").length,
    ];
    const before = await recorded();

    for (let count = 0; count < 500; count += 10) {
      const all = Array.from({ length: 10 }, (_, index) =>
        index % 2 ? comeBackWith({ key: "guessed" }) : comeBack(openBrowser(), "s", "n"),
      );
      for (const { status } of await Promise.all(all)) expect(status).toBe(400);
    }

    expect(await recorded()).toEqual(before);
  });
});

const elsewhere = [
  ...["//", "///", "/\\", "\\\\", "\\/", "/%2F", "/%2f", "/%5C", "/%5c", "/./%2f", "/%2e/%2F", "/a/../%5c", "%2F%2F"],
  ...["/..//", "/.//", "/a/..//", "/\t/", "/\n/", "/ /", "/\ufeff/", "/\u2028/", "https://", "https:", "https:/"],
].map((before) => `${before}evil.example`);
elsewhere.push(
  ...["/\r\nSet-Cookie: refreshToken=x", "/\u0000", "/\u202eevil", " /users", "HTTPS://EVIL.EXAMPLE"],
  ...["", "@evil.example", ".evil.example", "/users"].map((after) => `https://panel.example.com${after}`),
  ...["javascript:alert(1)", "data:text/html,x", "//panel.example.com", "users", "?page=2", "#users", ".", ".."],
  ...[`/${"a".repeat(1_500)}`, `/${"é".repeat(300)}`],
);

describe("The page to come back to", () => {
  it("is none that could lead elsewhere", async () => {
    for (const to of elsewhere) {
      expect([to, normalPathOf(to)]).toEqual([to, undefined]);
      const response = await openBrowser().get(`${stack.url}/sign-in?to=${encodeURIComponent(to)}`);
      expect([to, response.status, response.headers.getSetCookie()]).toEqual([to, 400, []]);
    }
  });

  it.each([
    ["/", "/"],
    ["/users?page=2&order=name-asc#last", "/users?page=2&order=name-asc#last"],
    ["/users?next=https://evil.example", "/users?next=https://evil.example"],
    ["/größe/日本", "/gr%C3%B6%C3%9Fe/%E6%97%A5%E6%9C%AC"],
    ["/a//b", "/a//b"],
    ["/a/../b", "/b"],
    ["/@evil.example", "/@evil.example"],
    ["/#/users", "/#/users"],
  ])("may be %s", async (to, location) => {
    const browser = openBrowser();
    const { searchParams } = await begin(stack, browser, to);
    const response = await comeBack(browser, searchParams.get("state") ?? "", searchParams.get("nonce") ?? "");

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
        const path = normalPathOf((isPath ? "/" : "") + parts.join(""));
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
