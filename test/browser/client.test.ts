import { readFile } from "node:fs/promises";
import type { Server } from "node:http";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type * as client from "../../lib/client/index.js";
import { hasBrowser, startBrowser } from "../support/browser.ts";
import { aContributor } from "../support/catalogue.ts";
import { servePages } from "../support/pages.ts";
import { anAdministrator } from "../support/people.ts";
import { type Stack, startStack } from "../support/stack.ts";

let stack: Stack;
let server: Server;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  if (!hasBrowser) return;
  const pages = await servePages();
  server = pages.server;
  const origin = `http://localhost:${pages.port}`;
  stack = await startStack({ allowedOrigins: [origin], signIn: [] });
  const { token } = await anAdministrator(stack.sql);
  browser = await startBrowser();
  page = await browser.newPage();
  await page.context().addCookies([{ name: "refreshToken", value: token, domain: "localhost", path: "/" }]);
  await page.goto(origin);
  const source = await readFile(join(import.meta.dirname, "../../lib/client/index.js"), "utf8");
  const url = stack.url.replace("127.0.0.1", "localhost");
  await page.addScriptTag({ type: "module", content: `${source}\nwindow.colophon = createClient("${url}");` });
  await page.waitForFunction("window.colophon");
});

afterAll(async () => {
  await browser?.close();
  server?.close();
  await stack?.close();
});

declare const colophon: client.Colophon;

describe.skipIf(!hasBrowser)("The client in a page of another origin", () => {
  it("knows what it has created, opens and edits it, and sees a conflict", async () => {
    const statuses = await page.evaluate(async () => {
      const { created = 0 } = await colophon.POST("/admin-contributors/add", { body: { first_name: "Created" } });
      const query = { include: "type,public" } as const;
      const opened = await colophon.GET("/admin-contributors/id/{id}", { path: { id: created }, query });
      if (opened.error) return [opened.error.data];
      const saved = await colophon.editContributor(opened, { type: "author", public: true });
      const late = await colophon.editContributor(opened, { gender: "female" });
      return [saved, late.status === "conflict" && late.current.data.type];
    });

    expect(statuses).toEqual([{ status: "saved" }, "author"]);
  });

  it("reads the public catalogue with the same client, at once and as a stream", async () => {
    await aContributor(stack.sql, { first_name: "Anna 日本" });

    const names = await page.evaluate(async () => {
      const query = { client: 1, search: "anna" };
      const [person] = await colophon.all("/contributors", { query });
      const names = [person?.first_name];
      for await (const { first_name } of colophon.stream("/contributors", { query })) names.push(first_name);
      return names;
    });

    expect(names).toEqual(["Anna 日本", "Anna 日本"]);
  });

  it("ends its session", async () => {
    const answers = await page.evaluate(async () => {
      const before = await colophon.GET("/session");
      const out = await colophon.POST("/sign-out");
      const after = await colophon.GET("/session");
      return [before.error, out.data, after.error];
    });

    expect(answers).toEqual([undefined, { data: "Signed out", code: 200 }, { data: "Unauthorized", code: 401 }]);
    expect(await stack.sql`select from refresh_tokens where revoked_at is null`).toEqual([]);
  });
});
