import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, startBrowser } from "../support/browser.ts";
import { useStack } from "../support/stack.ts";
import { whileDatabaseFails } from "../support/unchanged.ts";
import { startWebsite } from "./website.ts";

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
  it("shows names and searches as text, and published people alone", async () => {
    await stack.sql`update contributors set first_name = '<b>"R&D"' where slug = 'kentaro-miura'`;
    await stack.sql`update contributors set public = false where slug = 'junji-ito'`;

    const html = await (await fetch(`${website}/?search=${encodeURIComponent('<b>"R&')}`)).text();

    expect(html).toContain('<a href="/people/kentaro-miura">&#60;b&#62;&#34;R&#38;D&#34; Miura</a>');
    expect(html).toContain('value="&#60;b&#62;&#34;R&#38;"');
    expect((await fetch(`${website}/people/junji-ito`)).status).toBe(404);
    expect((await fetch(`${website}/?search=${"a".repeat(300)}`)).status).toBe(400);
  });

  it("answers 503 while the service fails", async () => {
    const response = await whileDatabaseFails(stack, () => fetch(`${website}/?search=failing`));

    expect(response.status).toBe(503);
  });
});

describe.skipIf(!hasBrowser)("The website in a browser", () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await startBrowser();
  });

  afterAll(() => browser?.close());

  it("leads through its pages, each person on one of them, and from a search to a person with works", async () => {
    const [counted] = await stack.sql`
      select count(*) as count from contributors where public and (client_id is null or client_id = 1)
    `;
    const page = await browser.newPage();
    const links: (string | null)[] = [];
    for (let url = `${website}/`; ; url = page.url()) {
      await page.goto(url);
      for (const link of await page.locator("li a").all()) links.push(await link.getAttribute("href"));
      const next = page.getByRole("link", { name: "Next" });
      if ((await next.count()) === 0) break;
      await next.click();
    }
    expect(new Set(links).size).toBe(counted?.count);
    expect(links).toHaveLength(counted?.count);

    await page.getByLabel("Name").fill("tezuka");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("link", { name: "Osamu Tezuka" }).click();

    await page.getByRole("heading", { name: "Osamu Tezuka" }).waitFor();
    await page.getByText("Astro Boy").first().waitFor();
  });
});
