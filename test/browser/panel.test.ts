import { createServer } from "node:http";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listenToClients } from "../../infra/aws-local/http/listen.ts";
import type { AdminContributor, Opened } from "../../lib/client/index.js";
import { accessibilityIssues, hasBrowser, useBrowser } from "../support/browser.ts";
import { anAdministrator, type Person } from "../support/people.ts";
import { dataUrl, plain } from "../support/pictures.ts";
import { bundled, readmeExample } from "../support/readme-examples.ts";
import { startUploads, type UploadStack } from "../support/uploads.ts";

/* The panel of the client's README, on an origin of its own. */

let stack: UploadStack;
let administrator: Person;
const browser = useBrowser();
let page: Page;
let panelUrl: string;
let strangerUrl: string;
const servers: Awaited<ReturnType<typeof listenToClients>>[] = [];

async function serve(script: () => Promise<string>): Promise<string> {
  const server = createServer(async ({ url }, response) => {
    const isScript = url === "/panel.js";
    response.writeHead(200, { "Content-Type": isScript ? "text/javascript" : "text/html; charset=utf-8" });
    response.end(isScript ? await script() : '<!doctype html><title>Panel</title><script src="/panel.js"></script>');
  });
  servers.push(await listenToClients(server));
  return servers.at(-1)?.url ?? "";
}

beforeAll(async () => {
  if (!hasBrowser) return;
  panelUrl = await serve(async () => bundled(await readmeExample("Panel"), stack.url, "panel"));
  strangerUrl = await serve(async () => "");
  stack = await startUploads({
    allowedOrigins: [panelUrl],
    signIn: [{ name: "ada", email: "ada@example.com", description: "" }],
    variables: () => ({ SIGN_IN_PANEL: `${panelUrl}/start` }),
  });
  administrator = await anAdministrator(stack.sql);
  await stack.sql`
    insert into identities (issuer, subject, user_id) values (${`${stack.url}/provider`}, 'ada', ${administrator.id})
  `;
  page = await (await browser().newContext()).newPage();
});

afterAll(async () => {
  for (const { close } of servers) await close();
  await stack?.close();
});

declare const panel: {
  whoAmI(): Promise<unknown>;
  signInLink(): string;
  signOut(): Promise<{ data: unknown }>;
  list(search: string, offset: number): Promise<void>;
  open(id: number): Promise<Opened<AdminContributor> & { close(): Promise<void> }>;
  save(opened: Opened<AdminContributor>, form: object): Promise<string>;
  setAvatar(opened: Opened<AdminContributor>, file: Blob): Promise<Opened<AdminContributor>>;
  add(first_name: string, last_name: string, file: Blob): Promise<number>;
};

const contributor = async (id: number) =>
  (
    await stack.sql`select first_name, gender, type, image is not null as has_image from contributors where id = ${id}`
  )[0];
const lockHolders = async (id: number) =>
  (await stack.sql`select editor_id from contributor_locks where contributor_id = ${id}`).map((each) => each.editor_id);

describe.skipIf(!hasBrowser)("A panel of another origin in a browser", () => {
  it("signs in, lists, edits beside another user, uploads, releases locks, and signs out", async () => {
    const printed: string[] = [];
    page.on("console", (message) => printed.push(message.text()));
    const place = `${panelUrl}/people?page=2#last`;
    await page.goto(place);
    expect(await page.evaluate(() => panel.whoAmI())).toBe("Nobody");

    await page.goto(await page.evaluate(() => panel.signInLink()));
    await page.getByRole("button", { name: "ada" }).click();
    await page.waitForURL(`${panelUrl}/people?page=2`);
    expect(await page.evaluate(() => panel.whoAmI())).toEqual({ name: administrator.username, mayDelete: true });
    expect(await page.evaluate("document.cookie")).toBe("");

    const image = dataUrl(await plain().png().toBuffer());
    const id = await page.evaluate(
      async (url) => await panel.add("Machiko", "Hasegawa", await (await fetch(url)).blob()),
      image,
    );
    await page.evaluate(() => panel.list("hasegawa", 0));
    expect(printed.slice(-2)).toEqual([`${id} Machiko is a draft of website 1`, "1 of 1"]);

    const opened = await page.evaluate((each) => panel.open(each), id);
    expect(await lockHolders(id)).toEqual([administrator.id]);
    const patch = { "Content-Type": "application/merge-patch+json" };
    const colleague = (await anAdministrator(stack.sql)).token;
    const edit = { as: colleague, path: { id }, headers: patch, body: { type: "artist" } };
    expect((await stack.call("admin-contributors/edit", edit)).status).toBe(200);
    const save = (form: object) =>
      page.evaluate(([record, fields]) => panel.save(record, fields), [opened, form] as const);
    expect(await save({ gender: "female" })).toBe("Saved");
    expect(await contributor(id)).toEqual({ first_name: "Machiko", gender: "female", type: "artist", has_image: true });
    expect(await lockHolders(id)).toEqual([]);

    const withAvatar = await page.evaluate(
      async ([each, url]) => await panel.setAvatar(await panel.open(each), await (await fetch(url)).blob()),
      [id, image] as const,
    );
    expect(withAvatar.data.image).not.toBe(opened.data.image);
    await page.evaluate(`panel.open(${id}).then(({ close }) => addEventListener("pagehide", close))`);
    expect(await lockHolders(id)).toEqual([administrator.id]);
    await page.goto("about:blank");
    await expect.poll(() => lockHolders(id)).toEqual([]);

    // A page of an origin that is not listed, to which the browser sends the cookie, too.
    await page.goto(strangerUrl);
    const reading = page.evaluate((url) => fetch(url, { credentials: "include" }), `${stack.url}/admin-users`);
    await expect(reading).rejects.toThrow("Failed to fetch");

    await page.goto(place);
    expect(await page.evaluate(async () => (await panel.signOut()).data)).toEqual({ data: "Signed out", code: 200 });
    expect(await page.evaluate(() => panel.whoAmI())).toBe("Nobody");
    expect((await page.context().cookies()).map(({ name }) => name)).not.toContain("refreshToken");
  });
});

it.skipIf(!hasBrowser).each([
  ["/sign-in", "Who are you?"],
  ["/sign-in/callback", "Signing in did not work"],
  ["/provider/choose/another", "You have chosen already"],
])("A page of signing in has landmarks and enough contrast: %s", async (path, name) => {
  const visitor = await browser().newPage();
  await visitor.goto(stack.url + path);

  expect(await accessibilityIssues(visitor, visitor.getByRole("heading", { name }))).toEqual([]);
});
