import { readFile } from "node:fs/promises";
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

/* The panel of the client's README, and the providers for react-admin, each on an origin of its own. */

let stack: UploadStack;
let administrator: Person;
const browser = useBrowser();
let page: Page;
let panelUrl: string;
let strangerUrl: string;
let providersUrl: string;
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
  const providers = await readFile("lib/client/examples/react-admin.ts", "utf8");
  providersUrl = await serve(async () => bundled(providers, stack.url, "providers"));
  strangerUrl = await serve(async () => "");
  stack = await startUploads({
    allowedOrigins: [panelUrl, providersUrl],
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

// biome-ignore lint/suspicious/noExplicitAny: react-admin's records have any shape
type Methods<Name extends string> = Record<Name, (...parameters: any[]) => Promise<any>>;
declare const providers: {
  readonly dataProvider: Methods<"getList" | "getMany" | "getManyReference" | "create" | "update" | "delete">;
  readonly authProvider: Methods<"checkAuth" | "getIdentity" | "getPermissions" | "canAccess" | "logout">;
};

describe.skipIf(!hasBrowser)("react-admin's providers in a browser", () => {
  it("read and change records in the version that was opened, and know what the user may do", async () => {
    const panel = await (await browser().newContext()).newPage();
    await panel.goto(providersUrl);
    const checkAuth = () => panel.evaluate(() => providers.authProvider.checkAuth());
    await expect(checkAuth()).rejects.toThrow("Please sign in");
    await panel.context().addCookies([{ name: "refreshToken", value: administrator.token, url: stack.url }]);
    await checkAuth();
    expect(await panel.evaluate(() => providers.authProvider.getIdentity())).toMatchObject({
      fullName: administrator.username,
    });
    expect(await panel.evaluate(() => providers.authProvider.getPermissions())).toContain("delete-contributors");
    const canAccess = (resource: string) =>
      panel.evaluate((name) => providers.authProvider.canAccess({ action: "edit", resource: name }), resource);
    expect([await canAccess("users"), await canAccess("publishers")]).toEqual([true, false]);

    const create = (data: object) =>
      panel.evaluate(
        (fields) =>
          providers.dataProvider.create("contributors", { data: fields }).catch(({ status, message, body }) => ({
            status,
            message,
            errors: body.errors,
          })),
        data,
      );
    const { data: created } = await create({ first_name: "Yoshito", last_name: "Usui" });
    expect(created).toMatchObject({ first_name: "Yoshito", aliases: [], version: 1 });
    expect(await create({ first_name: "Yoshito", last_name: "Usui" })).toMatchObject({ status: 409, errors: {} });
    expect(await create({ last_name: "Usui" })).toMatchObject({ status: 400, errors: { first_name: "missing" } });
    const { id } = created;

    const listed = await panel.evaluate(() =>
      providers.dataProvider.getList("contributors", {
        pagination: { page: 1, perPage: 5 },
        sort: { field: "last_name", order: "DESC" },
        filter: { search: "usui" },
      }),
    );
    expect(listed).toMatchObject({ data: [{ id, public: false, version: 1 }], total: 1 });
    const requested: string[] = [];
    panel.on("request", (request) => requested.push(new URL(request.url()).pathname));
    const many = await panel.evaluate((ids) => providers.dataProvider.getMany("contributors", { ids }), [id]);
    expect(many).toMatchObject({ data: [{ id, last_name: "Usui" }] });
    expect(requested).toEqual(["/admin-contributors"]);
    const [role] = await stack.sql`select role_id as id from user_roles where user_id = ${administrator.id}`;
    const referring = await panel.evaluate(
      (target) => providers.dataProvider.getManyReference("users", { target: "role", id: target }),
      role?.id,
    );
    expect(referring.data.map((each: { id: number }) => each.id)).toContain(administrator.id);

    const save = (previousData: object, changes: object) =>
      panel.evaluate(
        ([contributor, previous, data]) =>
          providers.dataProvider.update("contributors", { id: contributor, previousData: previous, data }),
        [id, previousData, { ...previousData, ...changes }] as const,
      );
    const { data: saved } = await save(created, { gender: "male", aliases: [{ name: "Usui Yoshito" }] });
    expect(saved).toMatchObject({ gender: "male", aliases: [{ name: "Usui Yoshito" }], version: 2 });
    await expect(save(created, { gender: "female" })).rejects.toThrow("Another user has changed the record");
    const remove = (previousData: object) =>
      panel.evaluate(
        ([contributor, previous]) =>
          providers.dataProvider.delete("contributors", { id: contributor, previousData: previous }),
        [id, previousData] as const,
      );
    await expect(remove(created)).rejects.toThrow("Precondition failed");
    expect(await contributor(id)).toMatchObject({ gender: "male" });
    await remove(saved);
    expect(await contributor(id)).toBeUndefined();

    await panel.evaluate(() => providers.authProvider.logout());
    await expect(checkAuth()).rejects.toThrow("Please sign in");
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
