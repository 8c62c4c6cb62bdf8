import type { Server } from "node:http";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loopbackOrigins } from "../../infra/local/pages/origins.ts";
import { accessibilityIssues, hasBrowser, startBrowser } from "../support/browser.ts";
import { servePages } from "../support/pages.ts";
import type { Person } from "../support/people.ts";
import { aLinkedUser } from "../support/sign-in.ts";
import { type Stack, startStack } from "../support/stack.ts";

/* Signing in from a panel on a port of its own, at the provider of `npm start`. panel.test.ts has the rest of a session. */

const users = ["ada", "grace", "stranger"].map((name) => ({ name, email: `${name}@example.com`, description: "" }));
const place = "/users/list?page=2&order=name#last";

let stack: Stack;
let panel: { server: Server; port: number };
let browser: Browser;
let ada: Person;
let grace: Person;

/** Shows who is signed in, and signs in to come back to this very page. */
const panelPage = () => `<!doctype html>
<title>Panel</title>
<a>Sign in</a>
<p></p>
<script>
  document.querySelector("a").href = "${stack.url}/sign-in?to=" +
    encodeURIComponent(location.pathname + location.search + location.hash);
  fetch("${stack.url}/session", { credentials: "include" }).then(async (response) => {
    const { user, data } = await response.json();
    document.querySelector("p").textContent = data ?? user.username;
  });
</script>`;

beforeAll(async () => {
  if (!hasBrowser) return;
  panel = await servePages((_, response) =>
    response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(panelPage()),
  );
  const variables = () => ({ SIGN_IN_PANEL: `${panelOrigin()}/start` });
  stack = await startStack({ allowedOrigins: loopbackOrigins, signIn: users, variables });
  ada = await aLinkedUser(stack, `${stack.url}/provider`, "ada");
  grace = await aLinkedUser(stack, `${stack.url}/provider`, "grace");
  browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  panel?.server.close();
  await stack?.close();
});

const panelOrigin = () => `http://127.0.0.1:${panel.port}`;

async function signIn(page: Page, name: string): Promise<void> {
  await page.getByRole("link", { name: /Sign in/ }).click();
  await page.getByRole("button", { name }).click();
}

async function expectSignedIn(page: Page, { username }: Person, url = panelOrigin() + place): Promise<void> {
  await page.waitForURL(url);
  await page.getByText(username, { exact: true }).waitFor();
}

describe.skipIf(!hasBrowser)("A user at a panel", () => {
  it("who is unknown can be another user, and can go back to the provider's page or the callback", async () => {
    const page = await browser.newPage();
    let callback = "";
    page.on("request", (request) => {
      if (request.url().includes("/sign-in/callback")) callback = request.url();
    });
    await page.goto(panelOrigin() + place);
    await signIn(page, "stranger");
    await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
    // The provider, on the same host, has its own.
    const cookies = (await page.context().cookies()).map(({ name }) => name);
    expect(cookies.filter((name) => !name.startsWith("_"))).toEqual([]);
    await signIn(page, "ada");
    await expectSignedIn(page, ada);

    await page.goBack();
    await page.getByRole("heading", { name: "You have chosen already" }).waitFor();
    await page.goto(callback);
    await page.getByText("you may be signed in already").waitFor();
    await page.goto(panelOrigin() + place);
    await expectSignedIn(page, ada);

    await page.goBack();
    await page.goBack();
    await page.getByRole("link", { name: "Choose again" }).click();
    await page.getByRole("button", { name: "grace" }).click();
    await expectSignedIn(page, grace, `${panelOrigin()}/start`);
  });

  it.each([
    ["/sign-in", "Who are you?"],
    ["/sign-in/callback", "Signing in did not work"],
    ["/provider/choose/another", "You have chosen already"],
  ])("sees pages with landmarks and enough contrast: %s", async (path, name) => {
    const page = await browser.newPage();
    await page.goto(stack.url + path);

    expect(await accessibilityIssues(page, page.getByRole("heading", { name }))).toEqual([]);
  });
});
