import { request, type Server } from "node:http";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, useBrowser } from "../support/browser.ts";
import { type HostileProvider, startHostileProvider } from "../support/hostile-provider.ts";
import { servePages } from "../support/pages.ts";
import { aLinkedUser } from "../support/sign-in.ts";
import { type Stack, startStack } from "../support/stack.ts";

/* The session's cookie in a browser, on a stage whose setting `cookieDomain` comes and goes. */

let variables: Readonly<Record<string, string>> = {};
let provider: HostileProvider;
let stack: Stack;
let edge: { server: Server; port: number };
const browser = useBrowser();

beforeAll(async () => {
  if (!hasBrowser) return;
  edge = await servePages(({ url, method, headers }, response) => {
    if (url?.startsWith("/panel")) return void response.writeHead(200).end();
    request(stack.url + url, { method, headers: { ...headers, host: new URL(stack.url).host } }, (origin) => {
      response.writeHead(origin.statusCode ?? 502, origin.headers);
      origin.pipe(response);
    }).end();
  });
  provider = await startHostileProvider();
  provider.metadata = { authorization_endpoint: `${address()}/panel/provider` };
  stack = await startStack({ signIn: provider.issuer, allowedOrigins: [address()], variables: () => variables });
  await aLinkedUser(stack, provider.issuer, "ada");
});

afterAll(async () => {
  await stack?.close();
  await provider?.close();
  edge?.server.close();
});

/** Browsers know that all hosts beneath `localhost` are this machine. */
const address = () => `http://api.colophon.localhost:${edge.port}`;

async function useCookieDomain(domain: string | undefined): Promise<void> {
  variables = {
    SIGN_IN_API_ADDRESS: address(),
    SIGN_IN_PANEL: `${address()}/panel`,
    ...(domain ? { SIGN_IN_COOKIE_DOMAIN: domain } : {}),
  };
  await stack.lambda.renew();
}

async function signIn(page: Page): Promise<void> {
  await page.goto(`${address()}/sign-in`);
  const { searchParams } = new URL(page.url());
  const seconds = Math.floor(Date.now() / 1000);
  const nonce = searchParams.get("nonce") ?? "";
  provider.claims = { iss: provider.issuer, aud: "colophon", sub: "ada", nonce, iat: seconds, exp: seconds + 300 };
  await page.goto(
    `${address()}/sign-in/callback?${new URLSearchParams({ code: "c", state: searchParams.get("state") ?? "" })}`,
  );
  expect(page.url()).toBe(`${address()}/panel`);
}

const domainsOf = async (context: BrowserContext) => (await context.cookies()).map(({ domain }) => domain);

const statusOf = (page: Page, method: string, path: string) =>
  page.evaluate(async (init) => (await fetch(init.path, init)).status, { method, path });

describe.skipIf(!hasBrowser)("The session's cookie", () => {
  it("is one, of the domain that the stage has now, and none after a sign-out", async () => {
    const page = await browser().newPage();
    const context = page.context();
    for (const [setting, domain] of [
      [undefined, "api.colophon.localhost"],
      ["colophon.localhost", ".colophon.localhost"],
      ["api.colophon.localhost", ".api.colophon.localhost"],
      [undefined, "api.colophon.localhost"],
    ]) {
      await useCookieDomain(setting);
      await signIn(page);

      const status = await statusOf(page, "GET", "/session");
      expect([setting, await domainsOf(context), status]).toEqual([setting, [domain], 200]);
    }

    await context.addCookies([{ name: "refreshToken", value: "old", domain: ".colophon.localhost", path: "/" }]);
    expect(await domainsOf(context)).toHaveLength(2);
    expect(await statusOf(page, "POST", "/sign-out")).toBe(200);
    expect(await domainsOf(context)).toEqual([]);
  });
});
