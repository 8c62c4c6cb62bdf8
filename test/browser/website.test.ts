import type { Server } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { hasBrowser, useBrowser } from "../support/browser.ts";
import { servePages } from "../support/pages.ts";
import { bundled, readmeExample } from "../support/readme-examples.ts";
import { useStack } from "../support/stack.ts";

/* The two pages of the client's README, rendered on a server. */

interface Website {
  people(search: string, page: number): Promise<{ links: string[]; pages: number }>;
  person(slug: string): Promise<{ last_name: string; works: readonly { name: string }[] } | undefined>;
}

const stack = useStack({ from: "demo" });
let website: { server: Server; port: number };
const browser = useBrowser();

beforeAll(async () => {
  const code = (await readmeExample("Website")).replaceAll(/^console\.log.*$/gm, "");
  const script = await bundled(`${code}\nexport { people, person };`, stack.url, { format: "esm" });
  const { people, person }: Website = await import(`data:text/javascript,${encodeURIComponent(script)}`);

  async function list(parameters: URLSearchParams): Promise<string> {
    const [search, page] = [parameters.get("search") ?? "", Number(parameters.get("page"))];
    const { links, pages } = await people(search, page);
    const items = links.map((link) => link.replace(/^(.*?): (.*)$/, '<li><a href="$1">$2</a></li>'));
    const next = page + 1 < pages ? `<a href="/?search=${search}&page=${page + 1}">Next</a>` : "";
    return `<form><input name="search" aria-label="Name"><button>Search</button></form>${items.join("")}${next}`;
  }

  website = await servePages(async ({ url = "" }, response) => {
    const { pathname, searchParams } = new URL(url, "http://website");
    const found = pathname === "/" ? undefined : await person(pathname.slice(1));
    const works = found?.works.map(({ name }) => `<li>${name}</li>`).join("");
    response.writeHead(found || pathname === "/" ? 200 : 404, { "Content-Type": "text/html; charset=utf-8" });
    response.end(found ? `<h1>${found.last_name}</h1>${works}` : await list(searchParams));
  });
});

afterAll(() => website?.server.close());

it.skipIf(!hasBrowser)("A website has every published person on a page, and leads from a search to works", async () => {
  const [counted] = await stack.sql`
    select count(*) as count from contributors where public and (client_id is null or client_id = 1)
  `;
  const page = await browser().newPage();
  const links: (string | null)[] = [];
  await page.goto(`http://127.0.0.1:${website.port}/`);
  for (;;) {
    for (const link of await page.locator("li a").all()) links.push(await link.getAttribute("href"));
    const next = page.getByRole("link", { name: "Next" });
    if ((await next.count()) === 0) break;
    await next.click();
  }
  expect([new Set(links).size, links.length]).toEqual([counted?.count, counted?.count]);

  await page.getByLabel("Name").fill("tezuka");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("link", { name: "Osamu Tezuka" }).click();

  await page.getByRole("heading", { name: "Tezuka" }).waitFor();
  await page.getByText("Astro Boy").first().waitFor();
  expect((await page.goto(`http://127.0.0.1:${website.port}/unknown`))?.status()).toBe(404);
});
