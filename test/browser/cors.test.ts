import type { Server } from "node:http";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, startBrowser } from "../support/browser.ts";
import { aContributor } from "../support/catalogue.ts";
import { fetchFrom as fetchIn, type Init, post, servePages } from "../support/pages.ts";
import { anAdministrator, type Person } from "../support/people.ts";
import { type Stack, startStack } from "../support/stack.ts";

let stack: Stack;
let administrator: Person;
const servers: Server[] = [];
let api: string;
let panel: string;
let stranger: string;
let browser: Browser;
let context: BrowserContext;

/** An origin with an empty page. */
async function serveAPage(): Promise<string> {
  const { server, port } = await servePages();
  servers.push(server);
  return `http://localhost:${port}`;
}

beforeAll(async () => {
  if (!hasBrowser) return;
  // These origins are not the API's, but of the same site, so the browser sends the cookie from both.
  panel = await serveAPage();
  stranger = await serveAPage();
  stack = await startStack({ allowedOrigins: [panel] });
  api = stack.url.replace("127.0.0.1", "localhost");
  administrator = await anAdministrator(stack.sql);
  browser = await startBrowser();
  context = await browser.newContext();
  await context.addCookies([
    {
      name: "refreshToken",
      value: administrator.token,
      domain: "localhost",
      path: "/",
      secure: true,
      sameSite: "None",
      httpOnly: true,
    },
  ]);
});

afterAll(async () => {
  await browser?.close();
  for (const server of servers) server.close();
  await stack?.close();
});

async function pageOf(origin: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(origin);
  return page;
}

const fetchFrom = (page: Page, path: string, init?: Init) => fetchIn(page, `${api}${path}`, init);

describe.skipIf(!hasBrowser)("A page in a real browser", () => {
  it("of the panel's origin lists, edits and deletes with the cookie, through preflights", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Before" });
    const page = await pageOf(panel);

    expect(await fetchFrom(page, "/admin-contributors?client=1")).toMatchObject({
      status: 200,
      body: { contributors: [{ first_name: "Before" }] },
    });
    expect(await fetchFrom(page, `/admin-contributors/edit/${id}`, post({ first_name: "After" }))).toMatchObject({
      status: 200,
    });
    expect(await fetchFrom(page, `/admin-contributors/id/${id}`)).toMatchObject({ body: { first_name: "After" } });
    expect(await fetchFrom(page, `/admin-contributors/delete/${id}`, { method: "DELETE" })).toMatchObject({
      status: 200,
    });
    expect(await fetchFrom(page, `/admin-contributors/id/${id}`)).toEqual({
      status: 404,
      body: { data: "Contributor not found", code: 404 },
    });
  });

  it("of the panel's origin reads the gateway's own errors, too", async () => {
    const page = await pageOf(panel);

    expect(await fetchFrom(page, "/admin-users/update-image/1", post({ image: "x" }))).toEqual({
      status: 503,
      body: { data: "This service is not handling file uploads.", code: 503 },
    });
  });

  it("of an origin that is not listed can neither read nor change anything", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Safe" });
    const page = await pageOf(stranger);

    expect(await fetchFrom(page, "/admin-contributors?client=1")).toEqual({ error: "TypeError" });
    expect(await fetchFrom(page, `/admin-contributors/edit/${id}`, post({ first_name: "Taken" }))).toEqual({
      error: "TypeError",
    });
    expect(await fetchFrom(page, `/admin-contributors/delete/${id}`, { method: "DELETE" })).toEqual({
      error: "TypeError",
    });
    // A form can send this, so there is no preflight.
    const simple: Init = {
      method: "POST",
      headers: { "Content-Type": "text/plain" },
      body: JSON.stringify({ first_name: "Taken" }),
    };
    expect(await fetchFrom(page, `/admin-contributors/edit/${id}`, simple)).toEqual({ error: "TypeError" });
    expect(await fetchFrom(page, `/admin-contributors/edit/${id}`, { ...simple, mode: "no-cors" })).toEqual({
      error: "SyntaxError",
    });

    expect(await stack.sql`select first_name from contributors where id = ${id}`).toEqual([{ first_name: "Safe" }]);
  });

  it("of the panel's origin may send and read what versions and repeated requests need", async () => {
    const { id } = await aContributor(stack.sql);
    const page = await pageOf(panel);
    const seen = await page.evaluate(async (url) => {
      const headers = { "Content-Type": "application/json", "If-Match": "*", "Idempotency-Key": "a" };
      const body = JSON.stringify({ first_name: "Versioned" });
      const response = await fetch(url, { method: "POST", credentials: "include", headers, body });
      return response.headers.has("x-amzn-RequestId");
    }, `${api}/admin-contributors/edit/${id}`);

    expect(seen).toBe(true);
  });

  it("of any origin reads the public catalogue", async () => {
    const page = await pageOf(stranger);

    expect(await fetchFrom(page, "/contributors?client=1", { credentials: "omit" })).toMatchObject({ status: 200 });
  });
});
