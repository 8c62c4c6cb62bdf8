import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { attemptOf, attemptsIn, begin, expectPage, openBrowser } from "../../support/sign-in.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ signIn: [{ name: "ada", email: "ada@example.com", description: "" }] });

describe("GET /sign-in", () => {
  it("answers 302 to the provider, with all that binds its answer to this browser and this attempt", async () => {
    const browser = openBrowser();

    const address = await begin(stack, browser, "/users?page=2");

    const { code_challenge: challenge, state, nonce, ...others } = Object.fromEntries(address.searchParams);
    expect(address.origin + address.pathname).toBe(`${stack.url}/provider/auth`);
    expect(others).toEqual({
      client_id: "colophon",
      response_type: "code",
      redirect_uri: `${stack.url}/sign-in/callback`,
      scope: "openid email",
      code_challenge_method: "S256",
    });
    for (const each of [challenge, state, nonce]) expect(each).toMatch(/^[\w-]{43}$/);
    expect(new Set([challenge, state, nonce]).size).toBe(3);
    expect([...browser.cookies.keys()]).toEqual([attemptOf(browser)]);
  });

  it("answers each time with other values, which nobody can read from the cookie", async () => {
    const browser = openBrowser();
    const addresses = [await begin(stack, openBrowser()), await begin(stack, browser)];
    const [text = ""] = (browser.cookies.get(attemptOf(browser)) ?? "").split(".");
    const content = attemptOf(browser) + Buffer.from(text, "base64url");

    for (const name of ["state", "nonce", "code_challenge"]) {
      const [one, other] = addresses.map((each) => each.searchParams.get(name) ?? "");
      expect(one).not.toBe(other);
      expect(content).not.toContain(other);
      expect(createHash("sha256").update(content).digest("base64url")).not.toBe(other);
    }
  });

  it("sets a cookie that scripts cannot read, for ten minutes, and that no cache keeps", async () => {
    const { headers } = await openBrowser().get(`${stack.url}/sign-in`);

    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^signIn-[\da-f]{12}=[\w-]+\.[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    expect(Object.fromEntries(headers)).toMatchObject({
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
    });
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

  it.each([
    ["of another form", `signIn-a b=${"x".repeat(4_700)}; signIn-é=1; signIn-=2; signIn-0123456789abc=3`, 1],
    [
      "as many as fit into a request",
      Array.from({ length: 400 }, (_, n) => `signIn-${String(n).padStart(12, "0")}=`).join(";"),
      31,
    ],
  ])("answers 302 to cookies that no browser got here: %s", async (_, cookies, most) => {
    const response = await openBrowser().get(`${stack.url}/sign-in`, {
      Cookie: Buffer.from(cookies).toString("latin1"),
    });

    expect(response.status).toBe(302);
    expect(response.headers.getSetCookie().length).toBeLessThanOrEqual(most);
  });

  it("answers 400 where it shall come back to another site, and says so", async () => {
    const response = await openBrowser().get(`${stack.url}/sign-in?to=//evil.example`);

    expect(response.headers.getSetCookie()).toEqual([]);
    expect(await expectPage(response, 400, "Signing in did not work")).toContain(`href="${stack.url}/sign-in"`);
  });
});
