import { mkdtemp, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import type { Page } from "playwright-core";
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { listenToClients } from "../../infra/aws-local/http/listen.ts";
import { docs } from "../../infra/local/pages/docs.ts";
import { loopbackOrigins } from "../../infra/local/pages/origins.ts";
import { scalarFile } from "../../infra/reference/page.ts";
import { writeReferenceSite } from "../../infra/reference/site.ts";
import { endpoints, resources } from "../../lib/contract/endpoints.ts";
import { accessibilityIssues, hasBrowser, useBrowser } from "../support/browser.ts";
import { linkDemoUsers } from "../support/sign-in.ts";
import { useStack } from "../support/stack.ts";

const users = ["administrator", "reader"].map((name) => ({ name, email: `${name}@example.com`, description: "" }));
const stack = useStack({
  from: "demo",
  signIn: users,
  pages: [docs("here")],
  variables: () => ({ SIGN_IN_PANEL: `${stack.url}/docs` }),
  allowedOrigins: loopbackOrigins,
});
const browser = useBrowser();
let page: Page;
let requested: string[];
let errors: string[];

beforeAll(async () => {
  await linkDemoUsers(stack, ...users.map(({ name }) => name));
  // The first request loads it, which takes a busy machine longer than a test waits.
  await fetch(`${stack.url}/provider/.well-known/openid-configuration`);
});

async function openPage(): Promise<void> {
  page = await (await browser().newContext({ viewport: { width: 1400, height: 900 } })).newPage();
  requested = [];
  errors = [];
  page.on("request", (request) => requested.push(request.url()));
  page.on("pageerror", ({ message }) => errors.push(message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
}

// A page that stays open goes on drawing itself.
afterEach(async () => {
  for (const context of browser()?.contexts() ?? []) await context.close();
});

/** A section or an operation, which is named by its path. */
const inSidebar = (name: string) =>
  page.locator("[data-sidebar-id]").getByText(name, { exact: true }).filter({ visible: true }).first();

/** Tries the operation that the page shows. */
async function sendRequest(path: string): Promise<void> {
  await page.getByRole("button", { name: new RegExp(`Test Request.*get ${path}`) }).click();
  await page.getByRole("button", { name: /^Send/ }).first().click();
}

it("The reference page is sent to the host name whose cookie people get", async () => {
  let page = docs("here");
  const { url, close } = await listenToClients(createServer((request, response) => void page(request, response)));
  const port = Number(new URL(url).port);
  const ask = async (path: string) => {
    const response = await fetch(url + path, { redirect: "manual" });
    await response.text();
    return [response.status, response.headers.get("location")];
  };

  page = docs("here", `http://localhost:${port}`);
  expect(await ask("/docs")).toEqual([302, `http://localhost:${port}/docs`]);
  expect(await ask("/docs/openapi.json")).toEqual([200, null]);
  const text = await (await fetch(`${url}/docs/openapi.json`)).text();
  expect(JSON.parse(text).servers).toEqual([{ url }]);
  page = docs("here", `http://localhost:${port + 1}`);
  expect(await ask("/docs")).toEqual([200, null]);
  await close();
});

it.each(["/", "/docs/"])("%s leads to the reference", async (path) => {
  const page = docs("here");
  const { url, close } = await listenToClients(createServer((request, response) => void page(request, response)));

  const response = await fetch(url + path, { redirect: "manual" });

  expect(response.status).toBe(302);
  expect(response.headers.get("location")).toBe("/docs");
  await response.text();
  await close();
});

it("The reference has the guide as Markdown and a summary for language models, all with their own origin", async () => {
  const read = async (path: string) => {
    const response = await fetch(stack.url + path);
    return [response.status, response.headers.get("Content-Type"), await response.text()] as const;
  };
  const files = await Promise.all(["/docs", "/docs/openapi.json", "/docs/guide.md", "/llms.txt"].map(read));

  expect(files.map(([status, type]) => [status, type])).toEqual([
    [200, "text/html; charset=utf-8"],
    [200, "application/json"],
    [200, "text/markdown; charset=utf-8"],
    [200, "text/plain; charset=utf-8"],
  ]);
  for (const [, , text] of files) expect(text).not.toContain("localhost:3000");
  const [, , guide, summary] = files.map(([, , text]) => text);
  expect(guide).toMatch(/^# Colophon\n/);
  expect(guide).toContain(`curl '${stack.url}/contributors?client=1`);
  expect(guide).toContain("\n## Beyond the interface\n");
  expect(summary).toContain("(/docs/guide.md)");
  for (const { method, path } of endpoints) expect(summary).toContain(`\`${method} ${path}\``);
});

it.each([
  { encoding: "br", accepted: "gzip, deflate, br" },
  { encoding: "gzip", accepted: "gzip, br;q=0" },
  { encoding: null, accepted: "br;q=0, identity" },
])(
  "Files of the reference are encoded by $encoding for a client that accepts $accepted",
  async ({ encoding, accepted }) => {
    const whole = await readFile(scalarFile, "utf8");
    const response = await fetch(`${stack.url}/docs/scalar.js`, { headers: { "Accept-Encoding": accepted } });
    const { headers } = response;

    expect([headers.get("Content-Encoding"), headers.get("Vary")]).toEqual([encoding, "Accept-Encoding"]);
    expect(Number(headers.get("Content-Length"))).toBeLessThan(encoding ? 1_100_000 : whole.length * 2);
    expect((await response.text()) === whole).toBe(true);
  },
);

describe.skipIf(!hasBrowser)("The reference page", () => {
  beforeEach(openPage);

  it("begins with a guide, shows every resource and the client's calls, and sends no request to other servers", async () => {
    await page.goto(`${stack.url}/docs`);
    for (const resource of Object.keys(resources)) await page.getByRole("button", { name: resource }).first().waitFor();

    const headings = await page.locator("#reference h2[id]").evaluateAll((all) => all.map(({ id }) => id));
    const links = await page.evaluate<string[]>("[...document.links].map(({ href }) => href)");
    // A link that begins to sign in leads to the provider, which knows the service by another address.
    const own = links.filter((url) => url.startsWith(stack.url) && url !== `${stack.url}/sign-in`);
    for (const url of new Set(own.map((each) => each.replace(/#.*/s, ""))))
      expect([url, (await fetch(url)).status]).toEqual([url, 200]);
    const anchors = await page
      .locator("#reference .markdown a[href^='#']")
      .evaluateAll((all) => all.map((link) => (link.getAttribute("href") ?? "").slice(1)));
    expect(headings.slice(0, 3)).toEqual(["the-first-request", "signing-in", "pages-and-searching"]);
    expect(anchors).toContain("lost-responses");
    expect(anchors.filter((anchor) => !headings.includes(anchor))).toEqual([]);

    await page.goto(`${stack.url}/docs#tag/public-contributors/GET/contributors`);
    await page.getByText('colophon.GET("/contributors"').first().waitFor();
    expect(await page.getByText("curl http").count()).toBe(0);

    expect(requested.filter((url) => !url.startsWith(stack.url) && !url.startsWith("data:"))).toEqual([]);
    // No user is signed in.
    expect(errors).toEqual([expect.stringContaining("401 (Unauthorized)")]);
  });

  it("gives a first response of the service after three clicks and less than 1 MB", async () => {
    const session = await page.context().newCDPSession(page);
    let bytes = 0;
    session.on("Network.loadingFinished", ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await session.send("Network.enable");
    let preference: string | undefined;
    page.on("request", (request) => {
      preference = request.headers().prefer;
    });

    await page.goto(stack.url);
    await inSidebar("/contributors").click();
    await sendRequest("/contributors");
    await page.getByText("200 OK").first().waitFor();

    expect(requested.at(-1)).toBe(`${stack.url}/contributors?client=1`);
    expect(preference).toBe("handling=strict");
    expect(bytes).toBeGreaterThan(100_000);
    expect(bytes).toBeLessThan(1_000_000);
  });

  it("links to the guide and the document without JavaScript", async () => {
    const context = await browser().newContext({ javaScriptEnabled: false });
    const plain = await context.newPage();
    await plain.goto(`${stack.url}/docs`);
    await plain.getByRole("link", { name: "the OpenAPI document" }).waitFor();
    await plain.getByRole("link", { name: "the guide" }).click();
    await plain.getByText("## The first request").waitFor();
  });

  it("scrolls tables, and not the page, on a narrow screen, where nothing shows beside the control", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    const edit = "/admin-contributors/edit/{id}";
    for (const { place, heading, named } of [
      { place: "", heading: "Beyond the interface", named: "" },
      {
        place: `#tag/administrative-contributors/POST${edit}`,
        heading: "Changes a contributor, all fields",
        named: edit,
      },
    ]) {
      await page.goto(`${stack.url}/docs${place}`);
      const title = page.getByRole("heading", { name: heading }).first();
      await title.waitFor();
      // On a busy machine the page may be drawn after it was scrolled to its place.
      const header = page.locator("#reference header", { hasText: named });
      await expect.poll(() => title.evaluate((it) => it.scrollIntoView()).then(() => header.isVisible())).toBe(true);

      expect([place, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([place, 390]);
      const beside = "[...Array(20).keys()].map((n) => (scrollBy(0, 40), document.elementFromPoint(345, 20).tagName))";
      expect(new Set(await page.evaluate<string[]>(beside))).toEqual(new Set(["BODY"]));
    }
  });

  it("sends requests as who is signed in, and as nobody after a sign-out", async () => {
    const signInAs = async (name: string) => {
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await page.getByRole("heading", { name: "Who are you?" }).waitFor();
      await page.getByRole("button", { name }).click();
      await page.locator("#name").getByText(name).waitFor();
    };
    const expectResponse = async (status: string, text: string) => {
      await inSidebar("Users").click();
      await inSidebar("/admin-users/id/{id}").click();
      await sendRequest("/admin-users/id");
      // The page has one place for the user, and an open request does not cover it.
      expect(await page.getByText("Authentication", { exact: true }).filter({ visible: true }).count()).toBe(0);
      await page.locator(".caller button").click({ trial: true });
      await page.getByText(status).first().waitFor();
      await page.getByText(text).first().waitFor();
      expect(requested.at(-1)).toBe(`${stack.url}/admin-users/id/4`);
      await page.locator(".app-exit-button").click();
    };
    await page.goto(`${stack.url}/docs`);
    await page.locator("#name").getByText("nobody").waitFor();

    await signInAs("administrator");
    expect(new URL(page.url()).pathname).toBe("/docs");
    await expectResponse("200 OK", '"Marginalia"');

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.locator("#name").getByText("nobody").waitFor();
    await signInAs("reader");
    await expectResponse("403 Forbidden", '"Forbidden"');
    // Neither scripts nor the page itself know the token.
    expect(await page.evaluate("document.cookie")).not.toContain("refreshToken");
  });

  it("has landmarks and enough contrast", async () => {
    await page.goto(`${stack.url}/docs#tag/users`);

    expect(await accessibilityIssues(page, page.getByText("/admin-users/id/{id}").first())).toEqual([]);
    expect(await page.locator("main main").count()).toBe(0);
  });
});

it("GET /docs has a policy that lets the page load nothing from other hosts, and no page frame it", async () => {
  const response = await fetch(`${stack.url}/docs`);
  const html = await response.text();

  expect(response.headers.get("Content-Security-Policy")).toBe("frame-ancestors 'none'");
  expect(html).toMatch(/<meta http-equiv="Content-Security-Policy" content="default-src 'none'.*connect-src 'self';/);
  expect(html).not.toMatch(/https?:\/\//);
});

it("The reference site sends requests to the API, and loads nothing but its own files", async () => {
  const directory = await mkdtemp(join(inject("cache"), "reference-"));
  await writeReferenceSite(directory, new URL(`${stack.url}/`));
  const types: Readonly<Record<string, string>> = { ".html": "text/html", ".json": "application/json" };
  const server = createServer(async ({ url = "" }, response) => {
    const name = url === "/" ? "index.html" : url.slice(1);
    response.setHeader("Content-Type", types[extname(name)] ?? "text/javascript");
    response.end(await readFile(join(directory, name)));
  });
  const { url, close } = await listenToClients(server);

  const read = (name: string) => readFile(join(directory, name), "utf8");
  expect(JSON.parse(await read("openapi.json")).servers).toEqual([{ url: stack.url }]);
  for (const name of ["index.html", "openapi.json", "guide.md", "llms.txt"])
    expect(await read(name)).not.toContain("localhost:3000");
  expect(await read("llms.txt")).toContain("(guide.md)");
  expect(await readFile(join(directory, "index.html"), "utf8")).not.toMatch(/local-|<select/);
  if (hasBrowser) {
    await openPage();
    await page.goto(url);
    await inSidebar("Public publishers").click();
    await inSidebar("/publishers").click();
    await sendRequest("/publishers");
    await page.getByText("200 OK").first().waitFor();

    expect(requested.at(-1)).toMatch(`${stack.url}/publishers`);
    const origins = new Set(requested.filter((url) => url.startsWith("http")).map((url) => new URL(url).origin));
    expect(origins).toEqual(new Set([url, stack.url]));
    expect(errors).toEqual([]);
  }
  await close();
});
