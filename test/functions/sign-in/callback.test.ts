import { beforeAll, describe, expect, it } from "vitest";
import type { Person } from "../../support/people.ts";
import { aLinkedUser, attemptsIn, begin, choose, expectPage, openBrowser, signIn } from "../../support/sign-in.ts";
import { signInPanel, useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const users = ["ada", "grace", "stranger"].map((name) => ({ name, email: `${name}@example.com`, description: "" }));
const variables: Readonly<Record<string, string>> = {};
const stack = useStack({ signIn: users, variables: () => variables });
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
      expect.stringMatching(/^signIn-[\da-f]{12}=; Max-Age=0; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    expect(attemptsIn(browser)).toEqual([]);
    const session = await stack.call("session", { as: browser.cookies.get("refreshToken") });
    expect(session.body).toMatchObject({ user: { id: ada.id } });
    const days = (Date.parse(session.body.expires) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(29.9);
    expect(days).toBeLessThan(30.1);
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

  it("answers 302 to each of several windows that have begun at once, in whatever order they come back", async () => {
    const browser = openBrowser();
    const [one, other] = [await begin(stack, browser, "/one"), await begin(stack, browser, "/other")];
    const addresses = [await choose(browser, other, "grace"), await choose(browser, one, "ada")];

    const pages = [];
    for (const address of addresses) pages.push((await browser.get(address)).headers.get("location"));

    expect(pages).toEqual(["https://panel.example.com/other", "https://panel.example.com/one"]);
    const { body } = await stack.call("session", { as: browser.cookies.get("refreshToken") });
    expect(body).toMatchObject({ user: { id: ada.id } });
    expect(attemptsIn(browser)).toEqual([]);
  });

  it("answers 403 to an unknown person, shows nothing else, and begins again for the same page", async () => {
    const browser = openBrowser();
    const response = await unchanged(stack, () => signIn(stack, browser, "stranger", "/users?page=2#last"));

    const html = await expectPage(response, 403, "You are not signed in");
    expect(html).not.toMatch(/stranger|ada|@/);
    expect(html).toContain(`href="${stack.url}/sign-in?to=%2Fusers%3Fpage%3D2%23last"`);
    expect([browser.cookies.has("refreshToken"), attemptsIn(browser)]).toEqual([false, []]);
  });
});
