import { beforeAll, describe, expect, it } from "vitest";
import type { Person } from "../../support/people.ts";
import { aLinkedUser, begin, choose, expectPage, openBrowser, signIn } from "../../support/sign-in.ts";
import { signInPanel, useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const users = ["ada", "grace", "stranger"].map((name) => ({ name, email: `${name}@example.com`, description: "" }));
const stack = useStack({ signIn: users });
let ada: Person;
let grace: Person;

beforeAll(async () => {
  ada = await aLinkedUser(stack, `${stack.url}/provider`, "ada");
  grace = await aLinkedUser(stack, `${stack.url}/provider`, "grace");
});

describe("GET /sign-in/callback", () => {
  it("answers 302 to the panel, with a session of thirty days and without the attempt", async () => {
    const browser = openBrowser();

    const response = await signIn(stack, browser, "ada");

    expect([response.status, response.headers.get("location")]).toEqual([302, signInPanel]);
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^refreshToken=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/),
      "signIn=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax",
    ]);
    const session = await stack.call("session", { as: browser.cookies.get("refreshToken") });
    expect(session.body).toMatchObject({ user: { id: ada.id } });
    const days = (Date.parse(session.body.expires) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(29.9);
    expect(days).toBeLessThan(30.1);
  });

  it("answers 302 to the page of the panel where somebody was", async () => {
    const { headers } = await signIn(stack, openBrowser(), "ada", "/users?page=2#last");

    expect(headers.get("location")).toBe("https://panel.example.com/users?page=2#last");
  });

  it("gives each sign-in a token of its own, also in a browser that has one", async () => {
    const browser = openBrowser();
    browser.cookies.set("refreshToken", "given-by-somebody-else");

    await signIn(stack, browser, "ada");
    const first = browser.cookies.get("refreshToken");
    await signIn(stack, browser, "ada");

    expect(new Set(["given-by-somebody-else", first, browser.cookies.get("refreshToken")]).size).toBe(3);
  });

  it("signs in somebody else in the same browser, who chooses anew at the provider of this machine", async () => {
    const browser = openBrowser();
    await signIn(stack, browser, "ada");

    expect((await signIn(stack, browser, "grace")).status).toBe(302);

    const { body } = await stack.call("session", { as: browser.cookies.get("refreshToken") });
    expect(body).toMatchObject({ user: { id: grace.id } });
  });

  it("answers 400 without the cookie of an attempt, and leaves nothing behind", async () => {
    const browser = openBrowser();
    const address = await choose(browser, await begin(stack, browser), "ada");

    const response = await unchanged(stack, () => openBrowser().get(address));

    await expectPage(response, 400, "Signing in did not work");
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it("answers 403 to whom nobody knows here, and shows nothing else", async () => {
    const response = await unchanged(stack, () => signIn(stack, openBrowser(), "stranger"));

    const html = await expectPage(response, 403, "This account is not known here");
    expect(html).not.toMatch(/stranger|ada|@/);
    expect(html).toContain(`href="${stack.url}/sign-in"`);
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it("has a failed attempt begun again for the same page of the panel", async () => {
    const response = await signIn(stack, openBrowser(), "stranger", "/users?page=2#last");

    const html = await expectPage(response, 403, "This account is not known here");
    expect(html).toContain(`href="${stack.url}/sign-in?to=%2Fusers%3Fpage%3D2%23last"`);
  });
});
