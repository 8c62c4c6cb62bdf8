import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeReferenceSite } from "../../infra/reference/site.ts";
import { hasBrowser, startBrowser } from "../support/browser.ts";
import { type Stack, startStack } from "../support/stack.ts";

/* The site is served as by any host: files of a directory, on another origin than the API. */

let stack: Stack;
let browser: Browser;
let directory: string;
const types: Readonly<Record<string, string>> = { html: "text/html", json: "application/json", js: "text/javascript" };
const host = createServer(async ({ url = "" }, response) => {
  const name = url === "/" ? "index.html" : url.slice(1);
  const content = await readFile(join(directory, name)).catch(() => undefined);
  const type = types[name.split(".").at(-1) ?? ""] ?? "text/plain";
  response.writeHead(content ? 200 : 404, { "Content-Type": type }).end(content);
});

beforeAll(async () => {
  stack = await startStack({ from: "demo" });
  directory = await mkdtemp(join(tmpdir(), "colophon-reference-"));
  await writeReferenceSite(directory, new URL(`${stack.url}/`));
  await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
  if (hasBrowser) browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  host.close();
  await Promise.all([stack.close(), rm(directory, { recursive: true })]);
});

describe("The reference site", () => {
  it("names the API as its server, and offers no tokens", async () => {
    const document = JSON.parse(await readFile(join(directory, "openapi.json"), "utf8"));

    expect(document.servers).toEqual([{ url: stack.url }]);
    expect(await readFile(join(directory, "index.html"), "utf8")).not.toMatch(/local-|<select/);
  });
});

describe.skipIf(!hasBrowser)("In a browser, the reference site", () => {
  it("sends requests to the API, and loads nothing from elsewhere", async () => {
    const { port } = host.address() as AddressInfo;
    const page = await (await browser.newContext({ viewport: { width: 1400, height: 900 } })).newPage();
    const requested: string[] = [];
    const errors: string[] = [];
    page.on("request", (request) => requested.push(request.url()));
    page.on("pageerror", ({ message }) => errors.push(message));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));

    await page.goto(`http://127.0.0.1:${port}/`);
    await page.getByRole("button", { name: "Public publishers" }).first().click();
    await page.getByRole("button", { name: "Lists publishers" }).first().click();
    await page.getByRole("button", { name: /Test Request.*get \/publishers/ }).click();
    await page.getByRole("button", { name: /^Send/ }).first().click();
    await page.getByText("200 OK").first().waitFor();

    expect(requested.at(-1)).toMatch(`${stack.url}/publishers`);
    const origins = new Set(requested.filter((url) => url.startsWith("http")).map((url) => new URL(url).origin));
    expect(origins).toEqual(new Set([`http://127.0.0.1:${port}`, new URL(stack.url).origin]));
    expect(errors).toEqual([]);
  });
});
