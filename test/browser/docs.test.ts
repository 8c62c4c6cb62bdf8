import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ApiGateway, startApiGateway } from "../../infra/aws-local/api-gateway/server.ts";
import { demoTokens } from "../../infra/local/demo/tokens.ts";
import { docs } from "../../infra/local/docs.ts";
import { localDocument } from "../../infra/local/document.ts";
import { hasBrowser, startBrowser } from "../support/browser.ts";
import { type Stack, startStack } from "../support/stack.ts";

let stack: Stack;
let gateway: ApiGateway;
let browser: Browser;
let page: Page;
let requested: string[];
let errors: string[];

beforeAll(async () => {
  stack = await startStack({ from: "demo" });
  gateway = await startApiGateway({
    lambda: stack.lambda,
    document: localDocument(),
    pages: [docs(Object.keys(demoTokens))],
  });
  if (hasBrowser) browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  await gateway.close();
  await stack.close();
});

describe.skipIf(!hasBrowser)("The reference page", () => {
  beforeEach(async () => {
    page = await (await browser.newContext({ viewport: { width: 1400, height: 900 } })).newPage();
    requested = [];
    errors = [];
    page.on("request", (request) => requested.push(request.url()));
    page.on("pageerror", ({ message }) => errors.push(message));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  });

  it("shows every resource, and sends no request to other servers", async () => {
    await page.goto(`${gateway.url}/docs`);
    await page.getByRole("heading", { name: "Colophon" }).waitFor();

    for (const resource of [
      "Users",
      "Roles",
      "Permissions",
      "Administrative contributors",
      "Public publishers",
      "Beyond the interface",
    ])
      await page.getByRole("button", { name: resource }).first().waitFor();

    expect(requested.filter((url) => !url.startsWith(gateway.url) && !url.startsWith("data:"))).toEqual([]);
    expect(errors).toEqual([]);
  });

  it("sends a request as the chosen user", async () => {
    await page.goto(`${gateway.url}/docs`);
    await page.getByRole("button", { name: "Shows a user" }).first().click();
    await page.getByRole("button", { name: /Test Request.*get \/admin-users\/id/ }).click();

    for (const [user, status, text] of [
      ["administrator", "200 OK", '"Marginalia"'],
      ["reader", "403 Forbidden", '"Forbidden"'],
      ["nobody", "401 Unauthorized", '"Unauthorized"'],
    ] as const) {
      await page.getByLabel("Requests are sent as").selectOption({ label: user });
      await page.getByRole("button", { name: /^Send/ }).first().click();

      await page.getByText(status).first().waitFor();
      await page.getByText(text).first().waitFor();
      expect(requested.at(-1)).toBe(`${gateway.url}/admin-users/id/4`);
    }
  });

  it("has one place where one chooses who one is, which commands follow", async () => {
    await page.goto(`${gateway.url}/docs`);
    await page.getByRole("button", { name: "Shows a user" }).first().click();
    await page.getByText("refreshToken=YOUR_SECRET_TOKEN").first().waitFor();
    await page.getByLabel("Requests are sent as").selectOption({ label: "editor" });
    await page.getByText("refreshToken=local-editor").first().waitFor();
    await page.reload();
    await page.getByText("refreshToken=local-editor").first().waitFor();

    const ofScalar = page.getByText("Authentication", { exact: true }).filter({ visible: true });
    expect(await ofScalar.count()).toBe(0);
    await page.getByRole("button", { name: /Test Request.*get \/admin-users\/id/ }).click();
    await page.getByText("Query Parameters", { exact: true }).filter({ visible: true }).last().waitFor();

    expect(await ofScalar.count()).toBe(0);
    // Neither does the open request cover it.
    await page.getByLabel("Requests are sent as").click({ trial: true });
    await page.locator(".app-exit-button").click({ trial: true });
  });
});

describe("GET /docs", () => {
  it("has a policy that lets the page load nothing from other hosts, and no page frame it", async () => {
    const response = await fetch(`${gateway.url}/docs`);
    const html = await response.text();

    expect(response.headers.get("Content-Security-Policy")).toBe("frame-ancestors 'none'");
    expect(html).toMatch(/<meta http-equiv="Content-Security-Policy" content="default-src 'none'.*connect-src 'self';/);
    expect(html).not.toMatch(/https?:\/\//);
  });

  it("leaves everything else to the gateway", async () => {
    expect((await fetch(`${gateway.url}/docs/elsewhere`)).status).toBe(404);
    expect((await fetch(`${gateway.url}/docs`, { method: "POST" })).status).toBe(404);
  });
});
