import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { hasBrowser, startBrowser } from "../support/browser.ts";
import { imageBaseUrl } from "../support/environment.ts";
import { useStack } from "../support/stack.ts";
import { whileDatabaseFails } from "../support/unchanged.ts";
import { startWebsite } from "./website/server.ts";

const stack = useStack({ from: "demo" });
let server: Server;
let website: string;

beforeAll(async () => {
  server = startWebsite(stack.url).listen(0, "127.0.0.1");
  await once(server, "listening");
  website = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => void server.close());

describe("The website", () => {
  it("has the whole page in its HTML, for readers without scripts", async () => {
    const response = await fetch(`${website}/?search=le+guin`);
    const html = await response.text();

    expect(response.status).toBe(200);
    expect(html).toContain('<a href="/people/ursula-k-le-guin">Ursula K. Le Guin</a>');
    expect(html).not.toContain("<script");
  });

  it("shows names and searches as text", async () => {
    await stack.sql`update contributors set first_name = '<b>"R&D"' where slug = 'kentaro-miura'`;

    const html = await (await fetch(`${website}/?search=${encodeURIComponent('<b>"R&')}`)).text();

    expect(html).toContain('<a href="/people/kentaro-miura">&#60;b&#62;&#34;R&#38;D&#34; Miura</a>');
    expect(html).toContain('value="&#60;b&#62;&#34;R&#38;"');
  });

  it.each(["/people/nobody", "/people/", "/people/%ff", "/people/a%2Fb", "/?page=999", "/elsewhere"])(
    "answers 404 for %s",
    async (path) => {
      expect((await fetch(`${website}${path}`)).status).toBe(404);
    },
  );

  it("answers 404 for a person who is not published", async () => {
    await stack.sql`update contributors set public = false where slug = 'junji-ito'`;

    expect((await fetch(`${website}/people/junji-ito`)).status).toBe(404);
  });

  it("answers 400 for a search that nothing can match", async () => {
    expect((await fetch(`${website}/?search=${"a".repeat(300)}`)).status).toBe(400);
  });

  it("asks visitors for patience while the service fails", async () => {
    const response = await whileDatabaseFails(stack, () => fetch(`${website}/?search=failing`));

    expect(response.status).toBe(503);
    expect(response.headers.get("Retry-After")).toBe("60");
  });
});

describe.skipIf(!hasBrowser)("The website in a browser", () => {
  let browser: Browser;
  let page: Page;
  let errors: string[];

  beforeAll(async () => {
    browser = await startBrowser();
  });

  afterAll(() => browser?.close());

  beforeEach(async () => {
    page = await browser.newPage();
    errors = [];
    const body = '<svg xmlns="http://www.w3.org/2000/svg"/>';
    await page.route(`${imageBaseUrl}/**`, (route) => route.fulfill({ contentType: "image/svg+xml", body }));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  });

  afterEach(async () => {
    await page.close();
    expect(errors).toEqual([]);
  });

  it("leads through its pages, each person on one of them", async () => {
    const [counted] = await stack.sql`
      select count(*) as count from contributors where public and (client_id is null or client_id = 1)
    `;
    await page.goto(website);
    const links: string[] = [];
    for (let number = 1; ; number++) {
      await page.getByText(`Page ${number} of`).waitFor();
      for (const link of await page.locator("li a").all()) links.push((await link.getAttribute("href")) ?? "");
      const next = page.getByRole("link", { name: "Next" });
      if ((await next.count()) === 0) break;
      await next.click();
    }

    expect(links).toHaveLength(counted?.count);
    expect(new Set(links).size).toBe(links.length);
  });

  it("leads from a search to a person with works", async () => {
    await page.goto(website);
    await page.getByLabel("Name").fill("tezuka");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("link", { name: "Osamu Tezuka" }).click();

    await page.getByRole("heading", { name: "Osamu Tezuka" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/people/osamu-tezuka");
    await page.getByText("Astro Boy").first().waitFor();
    await page.getByRole("link", { name: "People" }).click();
    await page.getByRole("heading", { name: "People" }).waitFor();
  });
});
