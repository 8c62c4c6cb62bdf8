import { describe, expect, it } from "vitest";
import type { AdminContributor, Colophon, Opened } from "../../../lib/client/index.js";
import { useAdministrator, useHolder } from "../../support/callers.ts";
import { aContributor } from "../../support/catalogue.ts";
import { clientFor, faultyNetwork } from "../../support/client.ts";
import { aUser } from "../../support/people.ts";
import { plain } from "../../support/pictures.ts";
import {
  aPermission,
  aRole,
  changesOf,
  defaultRoleId,
  give,
  lockHolderOf,
  permissionIdsOf,
  roleIdsOf,
} from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ uploads: true });
const administrator = useAdministrator(stack);
const colleague = useAdministrator(stack);
const reader = useHolder(stack, "view-contributors", "view-users");

/** A client and the bodies of the changes that it sends. */
function recording() {
  const { sent, fetch } = faultyNetwork();
  const colophon = clientFor(stack, administrator, { fetch });
  return { colophon, bodies: () => sent.flatMap(({ body }) => (body ? [JSON.parse(String(body))] : [])) };
}

async function open(colophon: Colophon, id: number, isWhole = true): Promise<Opened<AdminContributor>> {
  const { data, version, error } = await colophon.GET("/admin-contributors/id/{id}", {
    path: { id },
    query: isWhole ? { include: "type,public" } : {},
  });
  if (error) throw new Error(error.data);
  return { data, version };
}

/** A contributor with two of everything. */
async function aFullContributor() {
  const { id } = await aContributor(stack.sql, { last_name: "Last", gender: "male", type: "author and artist" });
  const others = [await aContributor(stack.sql), await aContributor(stack.sql), await aContributor(stack.sql)] as const;
  const { error } = await clientFor(stack, administrator).POST("/admin-contributors/edit/{id}", {
    path: { id },
    patch: {
      links: ["https://one.example.com", "https://two.example.com"],
      added_aliases: ["One", "Two"],
      added_descriptions: [
        { description: "First\nline", language: "English", source: "Book" },
        { description: "Erste", language: "German", source: "" },
      ],
      added_relations: others.slice(0, 2).map((other) => ({ relation_id: other.id, relation_type: "friend" })),
    },
  });
  expect(error).toBeUndefined();
  return { id, others };
}

const ledgerOf = async (id: number) => (await changesOf(stack.sql, "contributor", { id })).length;

describe("An edit of a contributor", () => {
  it("sends what the form has changed, and nothing else changes", async () => {
    const { id } = await aFullContributor();
    const { colophon, bodies } = recording();
    const opened = await open(colophon, id);

    const result = await colophon.editContributor(opened, { ...opened.data, first_name: "New" });

    expect(result).toEqual({ status: "saved" });
    expect(bodies()).toEqual([{ first_name: "New" }]);
    expect((await open(colophon, id)).data).toEqual({ ...opened.data, first_name: "New" });
  });

  it("sends an empty patch if nothing has changed, which frees the lock", async () => {
    const { id } = await aFullContributor();
    const { colophon, bodies } = recording();
    const opened = await open(colophon, id);
    const locks = () => stack.sql`select from contributor_locks where contributor_id = ${id}`;
    expect(await locks()).toHaveLength(1);

    const result = await colophon.editContributor(opened, opened.data);

    expect([result, bodies(), await locks()]).toEqual([{ status: "saved" }, [{}], []]);
    expect((await open(colophon, id)).version).toBe(opened.version);
  });

  it("leaves what the form lacks, whatever else it has", async () => {
    const { id } = await aFullContributor();
    const { colophon, bodies } = recording();
    const opened = await open(colophon, id, false);
    const form = { gender: undefined, type: undefined, last_name: "Other", slug: "mine", image: null };

    await colophon.editContributor(opened, form);

    expect(bodies()).toEqual([{ last_name: "Other" }]);
  });

  it("takes null and nothing as the same emptiness", async () => {
    const { id } = await aContributor(stack.sql);
    const { colophon, bodies } = recording();
    const empty = await open(colophon, id);
    const nothing = { last_name: null, gender: "", type: null, links: null, aliases: [""], descriptions: null };

    await colophon.editContributor(empty, nothing);
    const full = await aFullContributor();
    await colophon.editContributor(await open(colophon, full.id), {
      last_name: "",
      gender: null,
      type: "",
      links: [""],
    });

    expect(bodies()).toEqual([{}, { last_name: null, gender: null, type: null, links: [] }]);
    const { data } = await open(colophon, full.id);
    expect(data).toMatchObject({ last_name: "", gender: "", type: "", links: [], public: true });
  });

  it("adds, removes and renames aliases, as objects or as strings", async () => {
    const { id } = await aFullContributor();
    const { colophon, bodies } = recording();
    const opened = await open(colophon, id);
    const [one, two] = opened.data.aliases;
    if (!one || !two) throw new Error("There are two aliases");

    await colophon.editContributor(opened, { aliases: [{ ...one, name: "Uno" }, two, { name: "Three" }] });
    await colophon.editContributor(await open(colophon, id), { aliases: ["Two", "Four", "Uno"] });

    const { data } = await open(colophon, id);
    expect(data.aliases.map(({ name }) => name)).toEqual(["Two", "Uno", "Four"]);
    expect(data.aliases[0]).toEqual(two);
    expect(bodies()[0]).toEqual({ added_aliases: [{ name: "Uno" }, { name: "Three" }], removed_aliases: [one.id] });
  });

  it("sends of a description or relation that is another only what has changed in it", async () => {
    const { id, others } = await aFullContributor();
    const { colophon, bodies } = recording();
    const { data, version } = await open(colophon, id);
    const [english, german] = data.descriptions;
    const [first, second] = data.relations;

    await colophon.editContributor(
      { data, version },
      {
        descriptions: [{ ...english, source: null }, { description: "Première", language: "fr" }, { source: "" }],
        relations: [
          { ...second, relation_type: "foe" },
          { relation_id: `${others[2].id}`, relation_type: "friend" },
        ],
      },
    );

    expect(bodies()).toEqual([
      {
        added_descriptions: [{ description: "Première", language: "fr" }],
        modified_descriptions: [{ id: english?.id, source: "" }],
        removed_descriptions: [german?.id],
        added_relations: [{ relation_id: `${others[2].id}`, relation_type: "friend" }],
        modified_relations: [{ id: second?.id, relation_type: "foe" }],
        removed_relations: [first?.id],
      },
    ]);
    const { data: saved } = await open(colophon, id);
    expect(saved.descriptions).toEqual([
      { ...english, source: "" },
      { id: expect.any(Number), description: "Première", language: "French", source: "" },
    ]);
    expect(saved.relations.map(({ relation_id, relation_type }) => [relation_id, relation_type])).toEqual([
      [second?.relation_id, "foe"],
      [others[2].id, "friend"],
    ]);
  });

  it("takes the line breaks of a form for those of the record", async () => {
    const { id } = await aFullContributor();
    const { colophon, bodies } = recording();
    const { data, version } = await open(colophon, id);
    const descriptions = data.descriptions.map((each) => ({ ...each, description: "One\nTwo" }));
    await colophon.editContributor({ data, version }, { descriptions });

    const opened = await open(colophon, id);
    const form = descriptions.map((each) => ({ ...each, description: "One\r\nTwo" }));
    await colophon.editContributor(opened, { descriptions: form });

    expect(opened.data.descriptions).toEqual(descriptions);
    expect(bodies()[1]).toEqual({});
  });

  it("sends all links if one has changed, as strings or as objects", async () => {
    const { id } = await aFullContributor();
    const { colophon, bodies } = recording();
    const opened = await open(colophon, id);
    const urls = opened.data.links.map(({ url }) => url);

    await colophon.editContributor(opened, { links: urls });
    await colophon.editContributor(opened, { links: [...opened.data.links, { url: "https://three.example.com" }] });

    expect(bodies()).toEqual([{}, { links: [...urls, "https://three.example.com"] }]);
  });

  it("publishes only if the form says so", async () => {
    const { id } = await aContributor(stack.sql, { public: false });
    const { colophon } = recording();

    await colophon.editContributor(await open(colophon, id), { gender: "female" });
    expect((await open(colophon, id)).data).toMatchObject({ gender: "female", public: false });

    await colophon.editContributor(await open(colophon, id), { public: true });
    expect((await open(colophon, id)).data.public).toBe(true);
  });

  it("is a conflict with what is there now if somebody else was faster, and then changes nothing", async () => {
    const { id } = await aFullContributor();
    const [mine, theirs] = [clientFor(stack, administrator), clientFor(stack, colleague)];
    const [opened, other] = [await open(mine, id), await open(theirs, id)];
    await theirs.editContributor(other, { gender: "female" });

    const result = await mine.editContributor(opened, { ...opened.data, first_name: "Mine" });

    expect(result).toEqual({ status: "conflict", current: await open(theirs, id) });
    expect(await open(theirs, id)).toMatchObject({ data: { ...opened.data, gender: "female" } });
  });

  it("shows the conflict without a lock, and with what was included before", async () => {
    const { id } = await aContributor(stack.sql);
    const { colophon } = recording();
    const opened = await open(colophon, id, false);
    await clientFor(stack, colleague).editContributor(opened, { gender: "female" });
    await stack.sql`delete from contributor_locks where contributor_id = ${id}`;

    const result = await colophon.editContributor(opened, { gender: "male" });

    expect(result).toMatchObject({ status: "conflict", current: { data: { gender: "female" }, version: '"2"' } });
    expect(JSON.stringify(result)).not.toContain("public");
    expect(await stack.sql`select from contributor_locks where contributor_id = ${id}`).toEqual([]);
  });

  it("makes the same changes to what is there now, where elements that are gone stay gone", async () => {
    const { id } = await aFullContributor();
    const [mine, theirs] = [clientFor(stack, administrator), clientFor(stack, colleague)];
    const opened = await open(mine, id);
    const { aliases, descriptions, relations } = opened.data;
    const other = { gender: "female", aliases: ["Theirs", "Two"], descriptions: descriptions.slice(1), relations: [] };
    expect(await theirs.editContributor(opened, other)).toEqual({ status: "saved" });
    const form = {
      ...opened.data,
      type: "artist",
      aliases: aliases.slice(1).concat({ id: 0, name: "Mine" }),
      descriptions: [
        { ...descriptions[0], source: "Gone" },
        { ...descriptions[1], source: "Mine" },
      ],
      relations: relations.slice(1),
    };

    const result = await mine.editContributor(opened, form);
    if (result.status !== "conflict") throw new Error(result.status);
    const again = await mine.editContributor(opened, form, { onto: result.current });

    const { data } = await open(mine, id);
    expect(again).toEqual({ status: "saved" });
    expect(data).toMatchObject({ gender: "female", type: "artist", relations: [] });
    expect(data.aliases.map(({ name }) => name)).toEqual(["Two", "Theirs", "Mine"]);
    expect(data.descriptions).toEqual([{ ...descriptions[1], source: "Mine" }]);
  });

  it("adds and removes links and renames aliases beside somebody else who does the same", async () => {
    const { id } = await aContributor(stack.sql);
    const [mine, theirs] = [clientFor(stack, administrator), clientFor(stack, colleague)];
    const start = { links: ["https://a.example", "https://b.example"], aliases: ["one", "two"] };
    expect(await mine.editContributor(await open(mine, id), start)).toEqual({ status: "saved" });
    const opened = await open(mine, id);
    const { aliases } = opened.data;
    const other = { links: ["https://b.example", "https://theirs.example"], aliases: ["two", "same"] };
    expect(await theirs.editContributor(opened, other)).toEqual({ status: "saved" });
    const form = {
      links: ["https://mine.example", ...start.links],
      aliases: [{ ...aliases[0], name: "uno" }, { ...aliases[1], name: "dos" }, "same"],
    };

    const result = await mine.editContributor(opened, form);
    if (result.status !== "conflict") throw new Error(result.status);
    expect(await mine.editContributor(opened, form, { onto: result.current })).toEqual({ status: "saved" });

    const { data } = await open(mine, id);
    expect(data.links.map(({ url }) => url)).toEqual([
      "https://mine.example",
      "https://b.example",
      "https://theirs.example",
    ]);
    expect(data.aliases.map(({ name }) => name)).toEqual(["same", "dos"]);
  });

  it("is made once if its answer is lost", async () => {
    const { id } = await aContributor(stack.sql);
    const { sent, fetch } = faultyNetwork("answer lost");
    const opened = await open(clientFor(stack, administrator), id);

    const result = await clientFor(stack, administrator, { fetch }).editContributor(opened, { aliases: ["Once"] });

    expect([result, sent.length, await ledgerOf(id)]).toEqual([{ status: "saved" }, 2, 1]);
  });

  it("says that the name is taken", async () => {
    const { id } = await aContributor(stack.sql);
    const { id: other } = await aContributor(stack.sql);
    const colophon = clientFor(stack, administrator);
    const { first_name } = (await open(colophon, id)).data;

    const result = await colophon.editContributor(await open(colophon, other), { first_name });

    expect(result).toEqual({ status: "taken", message: "Contributor with this Name exists already." });
  });

  it.each([
    ["first_name", { first_name: "" }, "Required parameters missing"],
    ["first_name", { first_name: "  " }, "Required parameters missing"],
    ["first_name", { first_name: "a\u0000" }, "Invalid parameter: first_name"],
    ["gender", { gender: "a".repeat(256) }, "Invalid parameter: gender"],
    ["aliases", { aliases: ["a\nb"] }, "Invalid parameter: added_aliases"],
    ["descriptions", { descriptions: [{ language: "en" }] }, "Invalid parameter: added_descriptions"],
    ["relations", { relations: [{ relation_id: 999_999, relation_type: "a" }] }, "Invalid parameter: added_relations"],
    ["links", { links: ["javascript:alert(1)"] }, "Invalid parameter: links"],
  ])("names the form's field %s if %j is invalid", async (field, form, message) => {
    const { id } = await aContributor(stack.sql);
    const colophon = clientFor(stack, administrator);
    const opened = await open(colophon, id);

    expect(await colophon.editContributor(opened, form)).toEqual({ status: "invalid", field, message });
    expect((await open(colophon, id)).data).toEqual(opened.data);
  });

  it("is refused without a session, without the permission, and if the contributor has been deleted", async () => {
    const { id } = await aContributor(stack.sql);
    const opened = await open(clientFor(stack, administrator), id);
    const editAs = (person?: { token: string }) => clientFor(stack, person).editContributor(opened, { gender: "male" });

    expect(await editAs()).toEqual({ status: "refused", error: { code: 401, data: "Unauthorized" } });
    expect(await editAs(reader)).toEqual({ status: "refused", error: { code: 403, data: "Forbidden" } });
    await stack.sql`delete from contributors where id = ${id}`;
    const error = { code: 404, data: "Contributor not found" };
    expect(await editAs(administrator)).toEqual({ status: "refused", error });
  });

  it.each([{ public: false }, { type: "author" }])("throws for %j if the record was opened without", async (form) => {
    const { id } = await aFullContributor();
    const colophon = clientFor(stack, administrator);
    const opened = await open(colophon, id, false);

    await expect(colophon.editContributor(opened, { ...opened.data, ...form })).rejects.toThrow(TypeError);
    expect((await open(colophon, id)).data).toEqual({ ...opened.data, type: "author and artist", public: true });
  });

  it("throws for a record without its version, since nobody would see a conflict", async () => {
    const { id } = await aContributor(stack.sql);
    const { data } = await open(clientFor(stack, administrator), id);

    const edit = clientFor(stack, administrator).editContributor({ data, version: "" }, { gender: "male" });

    await expect(edit).rejects.toThrow(TypeError);
  });
});

describe("An edit of a user", () => {
  const openUser = async (id: number) => {
    const opened = await clientFor(stack, administrator).GET("/admin-users/id/{id}", { path: { id } });
    if (opened.error) throw new Error(opened.error.data);
    return opened;
  };

  it("sends the name, age verification and roles that have changed, and frees the lock", async () => {
    const user = await aUser(stack.sql);
    const [one, two] = [await aRole(stack.sql), await aRole(stack.sql)];
    await give(stack.sql, user, one);
    const { colophon, bodies } = recording();
    const opened = await openUser(user.id);
    expect(await lockHolderOf(stack.sql, user)).toBe(administrator.id);

    await colophon.editUser(opened, { username: user.username, age_verified: false, roles: opened.data.roles });
    expect(await lockHolderOf(stack.sql, user)).toBeUndefined();
    const roles = opened.data.roles.filter(({ id }) => id !== one.id);
    const result = await colophon.editUser(opened, { age_verified: true, roles: [...roles, { id: two.id }] });

    expect(result).toEqual({ status: "saved" });
    expect(bodies()).toEqual([{}, { age_verified: true, added_roles: [two.id], removed_roles: [one.id] }]);
    expect(await roleIdsOf(stack.sql, user)).toContain(two.id);
    expect((await openUser(user.id)).data).toMatchObject({ username: user.username, age_verified: true });
  });

  it("takes roles by their ids, and none as the default role", async () => {
    const user = await aUser(stack.sql);
    const role = await aRole(stack.sql);
    const colophon = clientFor(stack, administrator);

    await colophon.editUser(await openUser(user.id), { roles: [role.id] });
    expect(await roleIdsOf(stack.sql, user)).toEqual([role.id]);
    await colophon.editUser(await openUser(user.id), { roles: null });

    expect(await roleIdsOf(stack.sql, user)).toEqual([await defaultRoleId(stack.sql)]);
  });

  it("is a conflict if somebody else was faster, and is then made to what is there now", async () => {
    const user = await aUser(stack.sql);
    const role = await aRole(stack.sql);
    const colophon = clientFor(stack, administrator);
    const opened = await openUser(user.id);
    await clientFor(stack, colleague).editUser(opened, { roles: [...opened.data.roles, role] });
    const form = { ...opened.data, age_verified: true };

    const result = await colophon.editUser(opened, form);
    if (result.status !== "conflict") throw new Error(result.status);
    await colophon.editUser(opened, form, { onto: result.current });

    const { data } = await openUser(user.id);
    expect(result.current.data.roles.map(({ id }) => id)).toContain(role.id);
    expect(data.age_verified).toBe(true);
    expect(data.roles.map(({ id }) => id)).toContain(role.id);
  });

  it("says that the name is taken, which field is invalid, and that it is refused", async () => {
    const user = await aUser(stack.sql);
    const colophon = clientFor(stack, administrator);
    const opened = await openUser(user.id);

    expect(await colophon.editUser(opened, { username: colleague.username })).toEqual({
      status: "taken",
      message: "Username already taken",
    });
    expect(await colophon.editUser(opened, { username: null })).toMatchObject({ status: "invalid", field: "username" });
    expect(await colophon.editUser(opened, { roles: [999_999] })).toMatchObject({ status: "invalid", field: "roles" });
    expect(await clientFor(stack, reader).editUser(opened, { age_verified: true })).toMatchObject({
      status: "refused",
      error: { code: 403 },
    });
  });
});

describe("An edit of a role", () => {
  const openRole = async (id: number) => {
    const opened = await clientFor(stack, administrator).GET("/admin-roles/id/{id}", { path: { id } });
    if (opened.error) throw new Error(opened.error.data);
    return opened;
  };

  it("sends the name, and of description and permissions what has changed", async () => {
    const { id, name } = await aRole(stack.sql, "view-users");
    const { colophon, bodies } = recording();
    const [permission, added] = [(await permissionIdsOf(stack.sql, { id }))[0], await aPermission(stack.sql)];
    const opened = await openRole(id);

    await colophon.editRole(opened, { ...opened.data });
    const result = await colophon.editRole(opened, { description: null, permissions: [{ id: added.id }] });

    expect(result).toEqual({ status: "saved" });
    expect(bodies()).toEqual([
      { name },
      { name, description: "", added_permissions: [added.id], removed_permissions: [permission] },
    ]);
    const { data } = await openRole(id);
    expect(data).toEqual({ ...opened.data, description: "", permissions: [{ ...added, description: "" }] });
  });

  it("is a conflict if somebody else was faster, and is then made to what is there now", async () => {
    const { id } = await aRole(stack.sql);
    const colophon = clientFor(stack, administrator);
    const opened = await openRole(id);
    const renamed = `${opened.data.name} of another editor`;
    await clientFor(stack, colleague).editRole(opened, { name: renamed });
    const form = { ...opened.data, description: "Mine" };

    const result = await colophon.editRole(opened, form);
    if (result.status !== "conflict") throw new Error(result.status);
    expect(await colophon.editRole(opened, form, { onto: result.current })).toEqual({ status: "saved" });

    expect((await openRole(id)).data).toMatchObject({ name: renamed, description: "Mine" });
  });

  it("says that the name is taken, which field is invalid, and that it is refused", async () => {
    const [role, other] = [await aRole(stack.sql), await aRole(stack.sql)];
    const colophon = clientFor(stack, administrator);
    const opened = await openRole(role.id);

    expect(await colophon.editRole(opened, { name: other.name })).toEqual({
      status: "taken",
      message: "Role with the same name already exists",
    });
    expect(await colophon.editRole(opened, { name: " " })).toMatchObject({ status: "invalid", field: "name" });
    expect(await colophon.editRole(opened, { permissions: [999_999] })).toMatchObject({ field: "permissions" });
    expect(await clientFor(stack, reader).editRole(opened, { description: "" })).toMatchObject({ status: "refused" });
  });
});

describe("An avatar that is uploaded while a form is open", () => {
  const aFile = async () => new Blob([new Uint8Array(await plain().png().toBuffer())], { type: "image/png" });

  it("leaves the form to be saved without a conflict", async () => {
    const { id } = await aFullContributor();
    const colophon = clientFor(stack, administrator);
    const opened = await open(colophon, id);

    const result = await colophon.updateAvatar(opened, await aFile());
    if (result.status !== "saved") throw new Error(result.error.data);
    const edit = await colophon.editContributor(result.opened, { ...opened.data, gender: "female" });

    expect(result.opened).toEqual({
      data: { ...opened.data, image: expect.stringMatching(/^https/) },
      version: expect.not.stringMatching(opened.version),
    });
    expect(edit).toEqual({ status: "saved" });
    expect((await open(colophon, id)).data).toEqual({ ...result.opened.data, gender: "female" });
  });

  it("hides no conflict with somebody else", async () => {
    const { id } = await aContributor(stack.sql);
    const [mine, theirs] = [clientFor(stack, administrator), clientFor(stack, colleague)];
    const opened = await open(mine, id);
    await theirs.editContributor(opened, { gender: "female" });

    const result = await mine.updateAvatar(opened, await aFile());
    if (result.status !== "saved") throw new Error(result.error.data);

    expect(await mine.editContributor(result.opened, { gender: "male" })).toMatchObject({
      status: "conflict",
      current: { data: { gender: "female", image: result.opened.data.image } },
    });
  });

  it("is refused if it is no image, and too large a file is not sent", async () => {
    const { id } = await aContributor(stack.sql);
    const { sent, fetch } = faultyNetwork();
    const colophon = clientFor(stack, administrator, { fetch });
    const opened = await open(clientFor(stack, administrator), id);

    expect(await colophon.updateAvatar(opened, new Blob(["no image"]))).toEqual({
      status: "refused",
      error: { code: 500, data: "An error occurred while updating the contributor avatar" },
    });
    expect(sent).toHaveLength(1);
    await expect(colophon.updateAvatar(opened, new Blob([new Uint8Array(4_600_000)]))).rejects.toThrow(RangeError);
    expect(sent).toHaveLength(1);
  });
});
