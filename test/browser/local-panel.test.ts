import { request, type Server } from "node:http";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loopbackOrigins } from "../../infra/local/origins.ts";
import { hasBrowser, startBrowser } from "../support/browser.ts";
import { aContributor } from "../support/catalogue.ts";
import { fetchFrom, post, servePages } from "../support/pages.ts";
import { anAdministrator } from "../support/people.ts";
import { useStack } from "../support/stack.ts";

/* A panel on a port of this machine, with the origins that `npm start` allows, and the cookie that its README sets. */

const stack = useStack({ allowedOrigins: loopbackOrigins });
const servers: Server[] = [];
let browser: Browser;
let token: string;
let apiPort: string;
let panelPort: number;
let proxyPort: number;

beforeAll(async () => {
  if (!hasBrowser) return;
  ({ token } = await anAdministrator(stack.sql));
  apiPort = new URL(stack.url).port;
  const panel = await servePages();
  // Passes on all headers, as the proxies of development servers do: `Origin` and `Host` are those of the page.
  const proxy = await servePages(({ url, method, headers }, response) => {
    if (!url?.startsWith("/api/")) return void response.writeHead(200, { "Content-Type": "text/html" }).end();
    request(`${stack.url}${url.slice("/api".length)}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    }).end();
  });
  servers.push(panel.server, proxy.server);
  panelPort = panel.port;
  proxyPort = proxy.port;
  browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  for (const server of servers) server.close();
});

/** A page of this origin, whose script has set the cookie. */
async function signedIn(origin: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(origin);
  await page.evaluate(`document.cookie = "refreshToken=${token}; path=/"`);
  return page;
}

describe.skipIf(!hasBrowser)("A panel on this machine", () => {
  it.each(["localhost", "127.0.0.1"])("on %s calls the API under the same name", async (host) => {
    const page = await signedIn(`http://${host}:${panelPort}`);
    const api = `http://${host}:${apiPort}`;

    expect(await fetchFrom(page, `${api}/session`)).toMatchObject({
      status: 200,
      body: { user: { profile_image: null } },
    });
    const name = `Moto ${host}`;
    const added = await fetchFrom(
      page,
      `${api}/admin-contributors/add`,
      post({ first_name: name, last_name: "Hagio" }),
    );
    expect(added).toMatchObject({ status: 200, location: expect.stringMatching(/^\/admin-contributors\/id\/\d+$/) });
    const detail = `${api}${"location" in added ? added.location : ""}`;
    const id = detail.split("/").at(-1);

    expect(await fetchFrom(page, `${detail}?include=type,public`)).toMatchObject({
      body: { first_name: name, public: false },
    });
    expect(await stack.sql`select from contributor_locks where contributor_id = ${id}`).toHaveLength(1);
    expect(await fetchFrom(page, `${api}/admin-contributors/lock/${id}`, { method: "DELETE" })).toEqual({
      status: 200,
      body: { data: "Lock released", code: 200 },
    });
    expect(await stack.sql`select from contributor_locks where contributor_id = ${id}`).toHaveLength(0);

    const patch = post({ public: true }, "application/merge-patch+json");
    expect(await fetchFrom(page, `${api}/admin-contributors/edit/${id}`, patch)).toMatchObject({ status: 200 });
    expect(await stack.sql`select first_name, last_name, public from contributors where id = ${id}`).toEqual([
      { first_name: name, last_name: "Hagio", public: true },
    ]);
  });

  it("that calls the API under another name has no session there", async () => {
    const page = await signedIn(`http://127.0.0.1:${panelPort}`);

    expect(await fetchFrom(page, `http://localhost:${apiPort}/session`)).toMatchObject({ status: 401 });
  });

  it("behind a proxy that keeps its origin needs no other setting", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Before" });
    const page = await signedIn(`http://localhost:${proxyPort}`);
    const remove = { method: "DELETE" };

    expect(await fetchFrom(page, `/api/admin-contributors/id/${id}`)).toMatchObject({ body: { first_name: "Before" } });
    expect(await fetchFrom(page, `/api/admin-contributors/delete/${id}`, remove)).toMatchObject({ status: 200 });
  });
});
