import type { Server } from "node:http";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loopbackOrigins } from "../../infra/local/pages/origins.ts";
import { accessibilityIssues, hasBrowser, startBrowser } from "../support/browser.ts";
import { servePages } from "../support/pages.ts";
import { anAdministrator, type Person } from "../support/people.ts";
import { aLinkedUser } from "../support/sign-in.ts";
import { type Stack, startStack } from "../support/stack.ts";

/* Signing in from a panel on a port of its own, at the provider of `npm start`. */

const users = ["ada", "grace", "stranger"].map((name) => ({ name, email: `${name}@example.com`, description: "" }));
const place = "/users/list?page=2&order=name#last";

let stack: Stack;
let panel: { server: Server; port: number };
let browser: Browser;
let ada: Person;
let grace: Person;

/** Shows who is signed in, signs in to come back to this very page, and signs out. */
const panelPage = () => `<!doctype html>
<title>Panel</title>
<a>Sign in</a> <button>Sign out</button>
<p>…</p>
<script>
  document.querySelector("a").href = "${stack.url}/sign-in?to=" +
    encodeURIComponent(location.pathname + location.search + location.hash);
  const show = async () => {
    const response = await fetch("${stack.url}/session", { credentials: "include" });
    const { user, expires, code } = await response.json();
    document.querySelector("p").textContent = response.ok ? user.username + " until " + expires : String(code);
  };
  document.querySelector("button").onclick = async () => {
    await fetch("${stack.url}/sign-out", { method: "POST", credentials: "include" });
    await show();
  };
  show();
</script>`;

beforeAll(async () => {
  if (!hasBrowser) return;
  panel = await servePages((_, response) =>
    response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(panelPage()),
  );
  stack = await startStack({
    allowedOrigins: loopbackOrigins,
    signIn: users,
    variables: () => ({ SIGN_IN_PANEL: `${panelOrigin()}/start` }),
  });
  const issuer = `${stack.url}/provider`;
  ada = await anAdministrator(stack.sql);
  await stack.sql`insert into identities (issuer, subject, user_id) values (${issuer}, 'ada', ${ada.id})`;
  grace = await aLinkedUser(stack, issuer, "grace");
  browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  panel?.server.close();
  await stack?.close();
});

const panelOrigin = () => `http://127.0.0.1:${panel.port}`;
const shown = (page: Page) => page.locator("p").filter({ hasNotText: "…" }).innerText();

async function openPanel(): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(panelOrigin() + place);
  return page;
}

async function signIn(page: Page, name: string): Promise<void> {
  await page.getByRole("link", { name: /Sign in/ }).click();
  await page.getByRole("button", { name }).click();
}

const nameOf = async ({ id }: Person) =>
  (await stack.sql`select username from users where id = ${id}`)[0]?.username as string;

/** The names of the service's cookies; the provider, on the same host, has its own. */
const cookiesIn = async (page: Page) =>
  (await page.context().cookies()).map(({ name }) => name).filter((name) => !name.startsWith("_"));

describe.skipIf(!hasBrowser)("Somebody at a panel", () => {
  it("whom nobody knows is told so, and can be somebody else, who comes back to the same page", async () => {
    const page = await openPanel();

    await signIn(page, "stranger");
    await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
    expect(await cookiesIn(page)).toEqual([]);

    await signIn(page, "grace");
    await page.waitForURL(panelOrigin() + place);
    expect(await shown(page)).toMatch(`${await nameOf(grace)} until`);
  });

  it("can go back to the provider's page or the callback, and is told so", async () => {
    const page = await openPanel();
    let callback = "";
    page.on("request", (request) => {
      if (request.url().includes("/sign-in/callback")) callback = request.url();
    });
    await signIn(page, "ada");
    await page.waitForURL(panelOrigin() + place);

    await page.goBack();
    await page.getByRole("heading", { name: "You have chosen already" }).waitFor();
    await page.goto(callback);
    await page.getByText("you may be signed in already").waitFor();
    await page.goto(panelOrigin() + place);
    expect(await shown(page)).toMatch(`${await nameOf(ada)} until`);

    await page.goBack();
    await page.goBack();
    await page.getByRole("link", { name: "Choose again" }).click();
    await page.getByRole("button", { name: "grace" }).click();
    await page.waitForURL(`${panelOrigin()}/start`);
    expect(await shown(page)).toMatch(`${await nameOf(grace)} until`);
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
