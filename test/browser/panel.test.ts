import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { listenToClients } from "../../infra/aws-local/http/listen.ts";
import { accessibilityIssues, hasBrowser, useBrowser } from "../support/browser.ts";
import { anAdministrator, type Person } from "../support/people.ts";
import { dataUrl, plain } from "../support/pictures.ts";
import { bundled } from "../support/readme-examples.ts";
import { startUploads, type UploadStack } from "../support/uploads.ts";

/* A panel with the providers for react-admin, on an origin of its own. */

let stack: UploadStack;
let administrator: Person;
const browser = useBrowser();
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
  const providers = await readFile("lib/client/examples/react-admin.ts", "utf8");
  panelUrl = await serve(async () => bundled(providers, stack.url, "panel"));
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
});

afterAll(async () => {
  for (const { close } of servers) await close();
  await stack?.close();
});

// biome-ignore lint/suspicious/noExplicitAny: react-admin's records have any shape
type Methods<Name extends string> = Record<Name, (...parameters: any[]) => Promise<any>>;
declare const panel: {
  readonly dataProvider: Methods<"getList" | "getMany" | "getManyReference" | "create" | "update" | "delete">;
  readonly authProvider: Methods<"login" | "checkAuth" | "getIdentity" | "canAccess" | "logout">;
};

const contributor = async (id: number) =>
  (await stack.sql`select gender, type, image is not null as has_image from contributors where id = ${id}`)[0];
const lockHolders = async (id: number) =>
  (await stack.sql`select editor_id from contributor_locks where contributor_id = ${id}`).map((each) => each.editor_id);

it.skipIf(!hasBrowser)(
  "A panel of another origin signs in, lists, edits beside another user, uploads, releases locks, and signs out",
  async () => {
    const page = await (await browser().newContext()).newPage();
    const place = `${panelUrl}/people?page=2#/contributors`;
    await page.goto(place);
    const checkAuth = () => page.evaluate(() => panel.authProvider.checkAuth());
    await expect(checkAuth()).rejects.toThrow("Please sign in");
    await page.evaluate(() => panel.authProvider.login());
    await page.getByRole("button", { name: "ada" }).click();
    await page.waitForURL(place);
    await checkAuth();
    expect(await page.evaluate("document.cookie")).toBe("");
    expect(await page.evaluate(() => panel.authProvider.getIdentity())).toMatchObject({
      fullName: administrator.username,
    });
    const canAccess = (resource: string) =>
      page.evaluate((name) => panel.authProvider.canAccess({ action: "edit", resource: name }), resource);
    expect([await canAccess("users"), await canAccess("publishers")]).toEqual([true, false]);

    const create = (data: object) =>
      page.evaluate(
        (fields) =>
          panel.dataProvider
            .create("contributors", { data: fields })
            .catch(({ status, body }) => ({ status, errors: body.errors })),
        data,
      );
    const { data: created } = await create({ first_name: "Machiko", last_name: "Hasegawa" });
    expect(created).toMatchObject({ first_name: "Machiko", aliases: [] });
    expect(await create({ first_name: "Machiko", last_name: "Hasegawa" })).toEqual({ status: 409, errors: {} });
    expect(await create({ last_name: "Hasegawa" })).toEqual({ status: 400, errors: { first_name: "missing" } });
    const { id } = created;

    const listed = await page.evaluate(() =>
      panel.dataProvider.getList("contributors", {
        pagination: { page: 1, perPage: 5 },
        sort: { field: "changed", order: "DESC" },
        filter: { search: "hasegawa" },
      }),
    );
    expect(listed).toMatchObject({ data: [{ id, public: false, version: created.version }], total: 1 });
    const requested: string[] = [];
    page.on("request", (request) => requested.push(new URL(request.url()).pathname));
    const many = await page.evaluate((ids) => panel.dataProvider.getMany("contributors", { ids }), [id]);
    expect(many).toMatchObject({ data: [{ id, last_name: "Hasegawa" }] });
    expect(requested).toEqual(["/admin-contributors"]);
    const [role] = await stack.sql`select role_id as id from user_roles where user_id = ${administrator.id}`;
    const referring = await page.evaluate(
      (target) => panel.dataProvider.getManyReference("users", { target: "role", id: target }),
      role?.id,
    );
    expect(referring.data.map((each: { id: number }) => each.id)).toContain(administrator.id);
    const firstRole = await page.evaluate(() =>
      panel.dataProvider.getList("roles", { pagination: { page: 1, perPage: 1 } }),
    );
    expect(firstRole).toMatchObject({ data: [{ version: expect.any(String) }], pageInfo: { hasNextPage: true } });

    const patch = { "Content-Type": "application/merge-patch+json" };
    const colleague = (await anAdministrator(stack.sql)).token;
    const edit = { as: colleague, path: { id }, headers: patch, body: { type: "artist" } };
    expect((await stack.call("admin-contributors/edit", edit)).status).toBe(200);
    const save = (previousData: object, changes: object) =>
      page.evaluate(
        ([record, previous, data]) =>
          panel.dataProvider.update("contributors", { id: record, previousData: previous, data }),
        [id, previousData, { ...previousData, ...changes }] as const,
      );
    await expect(save(created, { gender: "male" })).rejects.toThrow("Another user has changed the record");
    const { data: saved } = await save(
      { ...created, ...listed.data[0], type: "artist", version: '"2"' },
      { gender: "female", aliases: [{ name: "Hasegawa Machiko" }] },
    );
    expect(saved).toMatchObject({ type: "artist", gender: "female", aliases: [{ name: "Hasegawa Machiko" }] });
    const remove = (previousData: object) =>
      page.evaluate(
        ([record, previous]) => panel.dataProvider.delete("contributors", { id: record, previousData: previous }),
        [id, previousData] as const,
      );
    await expect(remove(created)).rejects.toThrow("Another user has changed the record");

    // Edit locks and avatars, by the providers' client.
    const opening = `panel.colophon.GET("/admin-contributors/id/{id}", { path: { id: ${id} } })`;
    await page.evaluate(`${opening}.then(({ close }) => addEventListener("pagehide", close))`);
    const image = dataUrl(await plain().png().toBuffer());
    const uploading = `fetch("${image}").then((file) => file.blob()).then((blob) => panel.colophon.updateAvatar(opened, blob))`;
    await page.evaluate(`${opening}.then((opened) => ${uploading})`);
    expect(await contributor(id)).toEqual({ gender: "female", type: "artist", has_image: true });
    expect(await lockHolders(id)).toEqual([administrator.id]);
    await page.goto("about:blank");
    await expect.poll(() => lockHolders(id)).toEqual([]);

    // A page of an origin that is not listed, to which the browser sends the cookie, too.
    await page.goto(strangerUrl);
    const reading = page.evaluate((url) => fetch(url, { credentials: "include" }), `${stack.url}/admin-users`);
    await expect(reading).rejects.toThrow("Failed to fetch");

    await page.goto(place);
    const { data: last } = await page.evaluate((ids) => panel.dataProvider.getMany("contributors", { ids }), [id]);
    await remove(last[0]);
    expect(await contributor(id)).toBeUndefined();
    await page.evaluate(() => panel.authProvider.logout());
    await expect(checkAuth()).rejects.toThrow("Please sign in");
    expect((await page.context().cookies()).map(({ name }) => name)).not.toContain("refreshToken");
  },
);

it.skipIf(!hasBrowser).each([
  { path: "/sign-in", heading: "Who are you?" },
  { path: "/sign-in/callback", heading: "Signing in did not work" },
  { path: "/provider/choose/another", heading: "You have chosen already" },
])("A page of signing in has landmarks and enough contrast: $path", async ({ path, heading: name }) => {
  const visitor = await browser().newPage();
  await visitor.goto(stack.url + path);

  expect(await accessibilityIssues(visitor, visitor.getByRole("heading", { name }))).toEqual([]);
});
