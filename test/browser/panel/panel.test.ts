import { randomUUID } from "node:crypto";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { hasBrowser, startBrowser } from "../../support/browser.ts";
import { aContributor, type Columns } from "../../support/catalogue.ts";
import { imageBaseUrl } from "../../support/environment.ts";
import { anAdministrator, aSession, aUser, holderOf, type Person } from "../../support/people.ts";
import { plain } from "../../support/pictures.ts";
import { startUploads, type UploadStack } from "../../support/uploads.ts";
import { type PanelServer, servePanel } from "./serve.ts";

/* A panel of react-admin's over our client, on an origin of its own. */

let stack: UploadStack;
let panel: PanelServer;
let browser: Browser;
let administrator: Person;
/** Method and path of each request that the panel has sent, preflights aside. */
const requests: string[] = [];

beforeAll(async () => {
  if (!hasBrowser) return;
  panel = await servePanel();
  stack = await startUploads({ allowedOrigins: [panel.url] });
  administrator = await anAdministrator(stack.sql);
  browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  panel?.close();
  await stack?.close();
});

/** The service by the panel's host name, so that the browser sends the cookie. */
const service = () => stack.url.replace("127.0.0.1", "localhost");

async function signIn(page: Page, { token }: Pick<Person, "token">): Promise<void> {
  const site = { domain: "localhost", path: "/", secure: true, sameSite: "None", httpOnly: true } as const;
  await page.context().addCookies([{ name: "refreshToken", value: token, ...site }]);
}

/** The panel in a private window, at this path of its own. */
async function open(path: string, as: Person = administrator): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(20_000);
  page.on("request", (request) => {
    const { origin, pathname } = new URL(request.url());
    if (origin === service()) requests.push(`${request.method()} ${pathname}`);
  });
  await signIn(page, as);
  await page.goto(`${panel.url}/?service=${service()}#${path}`);
  return page;
}

const button = (on: Page | Locator, name: string) => on.getByRole("button", { name, exact: true });
const link = (on: Page | Locator, name: string) => on.getByRole("link", { name, exact: true });
const field = (on: Page | Locator, label: string) => on.getByLabel(label, { exact: true });
const group = (page: Page, name: string) => page.getByRole("group", { name, exact: true });
const message = (page: Page, text: string) => page.getByLabel("Messages").getByText(text, { exact: true });
/** A record's row in a list. */
const row = (page: Page, name: string) => page.getByRole("listitem").filter({ has: link(page, name) });

async function save(page: Page): Promise<void> {
  await button(page, "Save").click();
  await button(page, "Save").waitFor({ state: "detached" });
}

/** Answers what the page asks of the images' host, which does not exist. */
const serveImages = (page: Page): Promise<unknown> =>
  page.route(`${imageBaseUrl}/**`, (route) => route.fulfill({ status: 204 }));

const aName = (): string => `Name ${randomUUID()}`;
const detail = async (resource: "contributors" | "users" | "roles" | "permissions", id: number) => {
  const query = resource === "contributors" ? { include: "type,public", lock: "none" } : { lock: "none" };
  return (await stack.call(`admin-${resource}/id`, { as: administrator.token, path: { id }, query })).body;
};
const holdersOf = async (table: "contributor_locks" | "user_locks", id: number): Promise<unknown> =>
  (table === "user_locks"
    ? await stack.sql`select holder_id as id from user_locks where user_id = ${id}`
    : await stack.sql`select holder_id as id from contributor_locks where contributor_id = ${id}`
  ).map((holder) => holder.id);

/** A contributor with something in every field. */
async function aFullContributor(columns: Columns = {}) {
  const { sql } = stack;
  const first_name = aName();
  const { id } = await aContributor(sql, { first_name, last_name: "Last", gender: "male", type: "author", ...columns });
  const other = await aContributor(sql);
  await sql`insert into contributor_links (contributor_id, position, url) values
    (${id}, 1, 'https://example.com/one'), (${id}, 2, 'https://example.org/two')`;
  await sql`insert into contributor_aliases (contributor_id, name) values (${id}, 'Alias one'), (${id}, 'Alias two')`;
  await sql`insert into contributor_descriptions (contributor_id, language, description, source)
    values (${id}, 'English', 'Text', 'Encyclopedia'), (${id}, 'German', 'Worte', 'Lexikon')`;
  await sql`insert into contributor_relations (contributor_id, relation_id, relation_type)
    values (${id}, ${other.id}, 'friend')`;
  return { id, first_name, name: `${first_name} Last` };
}

/** What somebody else does meanwhile. */
const editOfAnother = async (id: number, patch: unknown) =>
  expect(
    await stack.call("admin-contributors/edit", {
      as: (await anAdministrator(stack.sql)).token,
      path: { id },
      body: patch,
      headers: { "Content-Type": "application/merge-patch+json" },
    }),
  ).toMatchObject({ status: 200 });

describe.skipIf(!hasBrowser)("A panel in a real browser", () => {
  describe("shows contributors", () => {
    it("by pages, in either order, by search and by website", async () => {
      const word = randomUUID();
      for (let n = 10; n < 22; n++) await aContributor(stack.sql, { first_name: `${word} ${n}` });
      await aContributor(stack.sql, { first_name: `${word} second`, client_id: 2 });
      const page = await open("/contributors");

      await field(page, "Search").fill(word);
      await page.getByText("Page 1 of 2, 12 in all").waitFor();
      expect(await link(page, `${word} 10`).count()).toBe(1);
      await button(page, "Next").click();
      await link(page, `${word} 21`).waitFor();
      expect(await link(page, `${word} 10`).count()).toBe(0);
      await button(page, "Previous").click();
      await button(page, "A to Z").click();
      await link(page, `${word} 21`).waitFor();

      await field(page, "Website").selectOption("2");
      await page.getByText("13 in all").waitFor();
      await field(page, "Search").fill(`${word} sec`);
      await page.getByText("1 in all").waitFor();
    });

    it("with whoever is editing them, and without a lock to those who only look", async () => {
      const { id, name, first_name } = await aFullContributor();
      const editor = await anAdministrator(stack.sql);
      const editing = await open(`/contributors/${id}`, editor);
      await field(editing, "First name").waitFor();
      const page = await open("/contributors");

      await field(page, "Search").fill(first_name);
      await row(page, name).getByText(`${editor.username} is editing this`).waitFor();
      await link(row(page, name), "Look").click();
      await page.getByText("Encyclopedia").waitFor();

      expect(await holdersOf("contributor_locks", id)).toEqual([editor.id]);
      await link(editing, "Cancel").click();
      await expect.poll(() => holdersOf("contributor_locks", id)).toEqual([]);
      await page.reload();
      await page.getByText("Encyclopedia").waitFor();
      expect(await holdersOf("contributor_locks", id)).toEqual([]);
    });
  });

  describe("edits a contributor", () => {
    it("and leaves all fields and elements that nobody touched", async () => {
      const { id } = await aFullContributor();
      const before = await detail("contributors", id);
      const page = await open(`/contributors/${id}`);
      const first_name = aName();

      await field(page, "First name").fill(first_name);
      await save(page);

      expect(await detail("contributors", id)).toEqual({ ...before, first_name });
      expect(await holdersOf("contributor_locks", id)).toEqual([]);
    });

    it("in all its fields and elements", async () => {
      const { id } = await aFullContributor();
      const before = await detail("contributors", id);
      const other = await aContributor(stack.sql);
      const page = await open(`/contributors/${id}`);

      await field(page, "Last name").fill("");
      await field(page, "Gender").fill("female");
      await field(page, "Type").fill("artist");
      await field(page, "Published").uncheck();
      await button(group(page, "Links"), "Remove").first().click();
      await field(group(page, "Also known as"), "Other name").first().fill("Alias three");
      const descriptions = group(page, "Descriptions");
      await field(descriptions, "Source").first().fill("");
      await button(descriptions, "Remove").nth(1).click();
      await button(descriptions, "Add").click();
      await field(descriptions, "Description").nth(1).fill("Mots");
      await field(descriptions, "Language").nth(1).fill("fr");
      await field(group(page, "Relations"), "Id of the other").fill(String(other.id));
      await save(page);

      const [description] = before.descriptions;
      expect(await detail("contributors", id)).toEqual({
        ...before,
        slug: expect.any(String),
        last_name: "",
        gender: "female",
        type: "artist",
        public: false,
        links: [before.links[1]],
        aliases: [before.aliases[1], { id: expect.any(Number), name: "Alias three" }],
        descriptions: [
          { ...description, source: "" },
          { id: expect.any(Number), description: "Mots", language: "French", source: "" },
        ],
        relations: [expect.objectContaining({ id: before.relations[0].id, relation_id: other.id })],
      });
    });

    it("that somebody else has changed, by adding its changes to theirs", async () => {
      const { id } = await aFullContributor();
      const before = await detail("contributors", id);
      const page = await open(`/contributors/${id}`);
      await field(page, "Gender").fill("female");
      await editOfAnother(id, { type: "editor", added_aliases: ["Theirs"] });

      await button(page, "Save").click();
      await page.getByText("Somebody else has changed this meanwhile").waitFor();
      await page.getByText("type: editor").waitFor();
      expect(await detail("contributors", id)).toMatchObject({ gender: "male" });
      await button(page, "Save my changes, too").click();
      await message(page, "Saved").waitFor();

      expect(await detail("contributors", id)).toEqual({
        ...before,
        gender: "female",
        type: "editor",
        aliases: [...before.aliases, { id: expect.any(Number), name: "Theirs" }],
      });
    });

    it("that somebody else has changed, after a look at what is there now", async () => {
      const { id } = await aFullContributor();
      const page = await open(`/contributors/${id}`);
      await field(page, "Type").fill("mine");
      await editOfAnother(id, { gender: "female", type: "theirs" });

      await button(page, "Save").click();
      await button(page, "Show what is there now").click();
      await expect.poll(() => field(page, "Type").inputValue()).toBe("theirs");
      await field(page, "Last name").fill("Again");
      await save(page);

      expect(await detail("contributors", id)).toMatchObject({ gender: "female", type: "theirs", last_name: "Again" });
    });

    it("unless another one has this name, which it says at the field", async () => {
      const first = await aFullContributor();
      const { id } = await aFullContributor();
      const page = await open(`/contributors/${id}`);

      await field(page, "First name").fill(first.first_name);
      await button(page, "Save").click();

      await expect.poll(() => field(page, "First name").getAttribute("aria-invalid")).toBe("true");
      await page.getByRole("alert").getByText("Contributor with this Name exists already.").waitFor();
      const name = aName();
      await field(page, "First name").fill(name);
      await save(page);
      expect(await detail("contributors", id)).toMatchObject({ first_name: name });
    });

    it("but gives its lock back when the edit is cancelled", async () => {
      const { id } = await aFullContributor();
      const before = await detail("contributors", id);
      const page = await open(`/contributors/${id}`);
      await field(page, "First name").fill("Never saved");
      expect(await holdersOf("contributor_locks", id)).toEqual([administrator.id]);

      await link(page, "Cancel").click();

      await expect.poll(() => holdersOf("contributor_locks", id)).toEqual([]);
      expect(await detail("contributors", id)).toEqual(before);
    });

    it("and gives its lock back when the page is closed", async () => {
      const { id } = await aFullContributor();
      const page = await open(`/contributors/${id}`);
      await field(page, "First name").waitFor();
      expect(await holdersOf("contributor_locks", id)).toEqual([administrator.id]);

      await page.goto("about:blank");

      await expect.poll(() => holdersOf("contributor_locks", id)).toEqual([]);
    });
  });

  it("adds a contributor, goes to it, gives it an avatar, and deletes it", async () => {
    const first_name = aName();
    const page = await open("/contributors");
    await serveImages(page);

    await link(page, "Add").click();
    await field(page, "First name").fill((await aFullContributor({ last_name: null })).first_name);
    await button(page, "Add").click();
    await page.getByRole("alert").getByText("Contributor with this Name exists already.").waitFor();
    await field(page, "First name").fill(first_name);
    await field(page, "Shown on").selectOption("2");
    await button(page, "Add").click();
    await field(page, "Gender").waitFor();
    const [added] = await stack.sql`select id, client_id from contributors where first_name = ${first_name}`;
    expect(page.url()).toMatch(new RegExp(`/contributors/${added?.id}$`));
    expect(added?.client_id).toBe(2);
    const id = Number(added?.id);

    // What is not yet saved outlives a change of the avatar.
    await field(page, "Gender").fill("female");
    const picture = { name: "a.png", mimeType: "image/png", buffer: await plain().png().toBuffer() };
    await field(page, "Choose").setInputFiles(picture);
    await message(page, "Image saved").waitFor();
    await button(page, "Remove image").waitFor();
    expect(await detail("contributors", id)).toMatchObject({ image: expect.stringContaining("https://"), gender: "" });
    await button(page, "Remove image").click();
    await message(page, "Image removed").waitFor();
    await button(page, "Remove image").waitFor({ state: "detached" });
    await save(page);
    expect(await detail("contributors", id)).toMatchObject({ image: "", gender: "female", first_name });

    await page.goto(`${panel.url}/?service=${service()}#/contributors/${id}`);
    await button(page, "Delete").click();
    await message(page, "Deleted").waitFor();
    expect(await stack.sql`select from contributors where id = ${id}`).toEqual([]);
  });

  it("refuses an image above the limit before it is sent", async () => {
    const { id } = await aFullContributor();
    const page = await open(`/contributors/${id}`);
    const sent = requests.length;

    await field(page, "Choose").setInputFiles({
      name: "a.png",
      mimeType: "image/png",
      buffer: Buffer.alloc(5_000_000),
    });

    await page.getByLabel("Messages").getByText("The image is larger than").waitFor();
    expect(requests.slice(sent).filter((request) => request.includes("update-avatar"))).toEqual([]);
  });

  describe("edits users:", () => {
    it("their names, roles and images", async () => {
      const user = await aUser(stack.sql);
      const [role] = await stack.sql`insert into roles (name) values (${aName()}) returning id, name`;
      await stack.sql`insert into user_roles (user_id, role_id) values (${user.id}, ${Number(role?.id)})`;
      const username = aName();
      const page = await open("/users");
      await serveImages(page);

      await field(page, "Search").fill(user.username);
      await link(page, user.username).click();
      await field(page, "User name").fill(administrator.username);
      await button(page, "Save").click();
      await page.getByRole("alert").getByText("Username already taken").waitFor();
      await field(page, "User name").fill(username);
      await field(page, "Age verified").check();
      await field(group(page, "Roles"), "Administrator").check();
      await field(group(page, "Roles"), String(role?.name)).uncheck();
      const picture = { name: "a.webp", mimeType: "image/webp", buffer: await plain().webp().toBuffer() };
      await field(page, "Choose").setInputFiles(picture);
      await button(page, "Remove image").waitFor();
      await save(page);

      expect(await detail("users", user.id)).toMatchObject({
        username,
        age_verified: true,
        profile_image: expect.stringContaining("https://"),
        roles: [{ name: "Administrator" }],
      });
      await page.goto(`${panel.url}/?service=${service()}#/users/${user.id}`);
      await button(page, "Remove image").click();
      await message(page, "Image removed").waitFor();
      expect(await detail("users", user.id)).toMatchObject({ profile_image: null });
    });

    it("logs them out, and deletes them", async () => {
      const user = await aUser(stack.sql);
      const page = await open(`/users/${user.id}`);

      expect(await detail("users", user.id)).toMatchObject({ logged_in: true });
      await button(page, "Log out").click();
      await message(page, "Logged out").waitFor();
      expect(await detail("users", user.id)).toMatchObject({ logged_in: false });
      await link(page, "Cancel").click();
      await expect.poll(() => holdersOf("user_locks", user.id)).toEqual([]);

      await page.goBack();
      await button(page, "Delete").click();
      await message(page, "Deleted").waitFor();
      expect(await stack.sql`select from users where id = ${user.id}`).toEqual([]);
    });
  });

  it("adds roles, gives them permissions, and deletes them", async () => {
    const name = aName();
    const page = await open("/roles/create");

    await field(page, "Name").fill("Administrator");
    await field(page, "Description").fill("For tests");
    await button(page, "Add").click();
    await page.getByRole("alert").getByText("Role with the same name already exists").waitFor();
    await field(page, "Name").fill(name);
    await button(page, "Add").click();
    await field(group(page, "Permissions"), "view-users").check();
    await field(group(page, "Permissions"), "view-roles").check();
    const id = Number((await stack.sql`select id from roles where name = ${name}`)[0]?.id);
    expect(page.url()).toMatch(new RegExp(`/roles/${id}$`));
    await save(page);
    expect(await detail("roles", id)).toMatchObject({
      name,
      description: "For tests",
      permissions: [{ name: "view-users" }, { name: "view-roles" }],
    });

    await field(page, "Search").fill(name);
    await link(page, name).click();
    await field(group(page, "Permissions"), "view-users").uncheck();
    await save(page);
    expect(await detail("roles", id)).toMatchObject({ permissions: [{ name: "view-roles" }] });

    await link(page, name).click();
    await button(page, "Delete").click();
    await message(page, "Deleted").waitFor();
    expect(await stack.sql`select from roles where id = ${id}`).toEqual([]);
  });

  it("says why the default role cannot be deleted", async () => {
    const id = Number((await stack.sql`select id from roles where is_default = 1`)[0]?.id);
    const page = await open(`/roles/${id}`);

    await button(page, "Delete").click();

    await message(page, "Cannot delete default role").waitFor();
  });

  it("adds, edits and deletes permissions, and tells of a conflict", async () => {
    const [name, renamed] = [aName(), aName()];
    const page = await open("/permissions/create");

    await field(page, "Name").fill("view-users");
    await field(page, "Description").fill("Before");
    await button(page, "Add").click();
    await page.getByRole("alert").getByText("Permission with the same name already exists").waitFor();
    await field(page, "Name").fill(name);
    await button(page, "Add").click();
    await button(page, "Save").waitFor();
    const id = Number((await stack.sql`select id from permissions where name = ${name}`)[0]?.id);
    await stack.call("admin-permissions/edit", {
      as: administrator.token,
      path: { id },
      body: { name, description: "Theirs" },
    });
    await field(page, "Name").fill(renamed);
    await button(page, "Save").click();
    await page.getByText("description: Theirs").waitFor();
    await button(page, "Save my changes, too").click();
    await message(page, "Saved").waitFor();
    expect(await detail("permissions", id)).toEqual({ id, name: renamed, description: "Theirs" });

    await field(page, "Search").fill(renamed);
    await link(page, renamed).click();
    await button(page, "Delete").click();
    await message(page, "Deleted").waitFor();
    expect(await stack.sql`select from permissions where id = ${id}`).toEqual([]);
  });

  it("offers what the user may do, and shows what the service forbids", async () => {
    const moderator = await holderOf(stack.sql, "view-users", "edit-users");
    const page = await open("/users", moderator);

    await page.getByText(`Signed in as ${moderator.username}`).waitFor();
    await field(page, "Search").fill(administrator.username);
    await link(page, administrator.username).click();
    await field(page, "User name").fill("Mine now");
    expect(await button(page, "Delete").count()).toBe(0);
    await button(page, "Save").click();
    await message(page, "Forbidden").waitFor();
    expect(await detail("users", administrator.id)).toMatchObject({ username: administrator.username });

    await link(page, "contributors").click();
    await page.getByText("You may not do this").waitFor();
  });

  it("says when the session has ended, and goes on where it was", async () => {
    const { id } = await aFullContributor();
    const person = await anAdministrator(stack.sql);
    const page = await open(`/contributors/${id}`, person);
    await field(page, "First name").fill("Too late");
    await stack.sql`update refresh_tokens set revoked_at = now() where user_id = ${person.id}`;

    await button(page, "Save").click();
    await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
    await signIn(page, { token: await aSession(stack.sql, person.id) });
    await button(page, "I have signed in").click();

    await field(page, "First name").waitFor();
    expect(page.url()).toMatch(new RegExp(`/contributors/${id}$`));
    expect(await detail("contributors", id)).not.toMatchObject({ first_name: "Too late" });
  });

  it("has called every administrative endpoint in these tests", () => {
    const shapes = new Set(requests.map((request) => request.replace(/\d+$/, "{id}")));

    const administrative = endpoints
      .filter(({ permission }) => permission)
      .map(({ method, path }) => `${method} ${path}`);
    // Two of them give locks back.
    expect(administrative.length).toBe(24 + 2);
    expect(administrative.filter((endpoint) => !shapes.has(endpoint))).toEqual([]);
  });
});
