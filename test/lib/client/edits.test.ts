import { describe, expect, it } from "vitest";
import type { AdminContributor, Colophon, ContributorForm, Opened } from "../../../lib/client/index.js";
import { useAdministrator, useHolder } from "../../support/callers.ts";
import { aContributor } from "../../support/catalogue.ts";
import { clientFor, faultyNetwork } from "../../support/client.ts";
import { aUser } from "../../support/people.ts";
import { plain } from "../../support/pictures.ts";
import { aRole, changesOf, defaultRoleId, give, lockHolderOf, roleIdsOf } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";

/* random-edits.test.ts compares what hundreds of edits do; here is what they send, and what comes back. */

const stack = useStack({ uploads: true });
const administrator = useAdministrator(stack);
const colleague = useAdministrator(stack);
const reader = useHolder(stack, "view-contributors", "view-users", "view-roles");

/** A client and the bodies of the changes that it sends. */
function recording() {
  const { sent, fetch } = faultyNetwork();
  const colophon = clientFor(stack, administrator, { fetch });
  return { colophon, bodies: () => sent.flatMap(({ body }) => (body ? [JSON.parse(String(body))] : [])) };
}

async function opened<Data>(
  call: PromiseLike<{ data?: Data; version?: string | undefined; error?: { data: string } | undefined }>,
): Promise<Opened<NonNullable<Data>>> {
  const { data, version, error } = await call;
  if (!data || version === undefined) throw new Error(error?.data);
  return { data, version };
}
const open = (colophon: Colophon, id: number, isWhole = true): Promise<Opened<AdminContributor>> =>
  opened(
    colophon.GET("/admin-contributors/id/{id}", { path: { id }, query: isWhole ? { include: "type,public" } : {} }),
  );
const openUser = (colophon: Colophon, id: number) => opened(colophon.GET("/admin-users/id/{id}", { path: { id } }));
const openRole = (colophon: Colophon, id: number) => opened(colophon.GET("/admin-roles/id/{id}", { path: { id } }));

/** A contributor with two of everything. */
async function aFullContributor() {
  const { id } = await aContributor(stack.sql, { last_name: "Last", gender: "male", type: "author and artist" });
  const others = [await aContributor(stack.sql), await aContributor(stack.sql)];
  const { error } = await clientFor(stack, administrator).POST("/admin-contributors/edit/{id}", {
    path: { id },
    patch: {
      links: ["https://one.example.com", "https://two.example.com"],
      added_aliases: ["One", "Two"],
      added_descriptions: [
        { description: "One\nTwo", language: "English", source: "Book" },
        { description: "Erste", language: "German", source: "" },
      ],
      added_relations: others.map((other) => ({ relation_id: other.id, relation_type: "friend" })),
    },
  });
  expect(error).toBeUndefined();
  return id;
}

const lockHolders = (id: number) => stack.sql`select editor_id from contributor_locks where contributor_id = ${id}`;

describe("An edit of a contributor", () => {
  type Elements = { readonly [Kind in "aliases" | "descriptions" | "relations"]: readonly { readonly id: number }[] };
  const ids = ({ aliases, descriptions, relations }: Elements) => ({
    aliases: aliases.map(({ id }) => id),
    descriptions: descriptions.map(({ id }) => id),
    relations: relations.map(({ id }) => id),
  });
  it.each<[string, (data: AdminContributor) => ContributorForm, (of: ReturnType<typeof ids>) => object]>([
    ["nothing that is as it was, whatever else it has", (data) => data, () => ({})],
    ["what has changed", (data) => ({ ...data, first_name: "New" }), () => ({ first_name: "New" })],
    [
      "nothing that the form lacks",
      () => ({ gender: undefined, last_name: "Other", slug: "mine", image: null }) as ContributorForm,
      () => ({ last_name: "Other" }),
    ],
    [
      "one emptiness for null and nothing",
      () => ({ last_name: "", gender: null, type: "", links: [""] }),
      () => ({ last_name: null, gender: null, type: null, links: [] }),
    ],
    [
      "aliases that are added, removed and renamed, as objects",
      ({ aliases: [one, two] }) => ({ aliases: [{ ...one, name: "Uno" }, { ...two, name: "Two" }, { name: "Three" }] }),
      ({ aliases }) => ({ added_aliases: [{ name: "Uno" }, { name: "Three" }], removed_aliases: [aliases[0]] }),
    ],
    [
      "aliases as strings",
      () => ({ aliases: ["Two", "Four"] }),
      ({ aliases }) => ({ added_aliases: [{ name: "Four" }], removed_aliases: [aliases[0]] }),
    ],
    [
      "of a description only what has changed in it",
      ({ descriptions: [english] }) => ({
        descriptions: [
          { ...english, source: null },
          { description: "Première", language: "fr" },
        ],
      }),
      ({ descriptions }) => ({
        added_descriptions: [{ description: "Première", language: "fr" }],
        modified_descriptions: [{ id: descriptions[0], source: "" }],
        removed_descriptions: [descriptions[1]],
      }),
    ],
    [
      "no line breaks that only a form has",
      ({ descriptions: [english, german] }) => ({
        descriptions: [{ ...english, description: "One\r\nTwo" }, { ...german }],
      }),
      () => ({}),
    ],
    [
      "of a relation only what has changed in it",
      ({ relations: [, second] }) => ({ relations: [{ ...second, relation_type: "foe" }] }),
      ({ relations }) => ({
        modified_relations: [{ id: relations[1], relation_type: "foe" }],
        removed_relations: [relations[0]],
      }),
    ],
    ["no links that are the same, as strings", ({ links }) => ({ links: links.map(({ url }) => url) }), () => ({})],
    [
      "all links if one has changed, as objects",
      ({ links }) => ({ links: [...links, { url: "https://three.example.com" }] }),
      () => ({ links: ["https://one.example.com", "https://two.example.com", "https://three.example.com"] }),
    ],
    ["whether it is public only if the form says so", () => ({ public: false }), () => ({ public: false })],
  ])("sends %s", async (_, formOf, patchOf) => {
    const { colophon, bodies } = recording();
    const id = await aFullContributor();
    const before = await open(colophon, id);
    expect(await lockHolders(id)).toEqual([{ editor_id: administrator.id }]);

    expect(await colophon.editContributor(before, formOf(before.data))).toEqual({ status: "saved" });

    expect(bodies()).toEqual([patchOf(ids(before.data as Elements))]);
    expect(await lockHolders(id)).toEqual([]);
  });

  it("shows a conflict without a lock, and with what was included before", async () => {
    const { id } = await aContributor(stack.sql);
    const colophon = clientFor(stack, administrator);
    const before = await open(colophon, id, false);
    await clientFor(stack, colleague).editContributor(before, { gender: "female" });
    await stack.sql`delete from contributor_locks where contributor_id = ${id}`;

    const result = await colophon.editContributor(before, { gender: "male" });

    expect(result).toMatchObject({ status: "conflict", current: { data: { gender: "female" }, version: '"2"' } });
    expect(JSON.stringify(result)).not.toContain("public");
    expect(await lockHolders(id)).toEqual([]);
  });

  it("is made once if its response is lost", async () => {
    const { id } = await aContributor(stack.sql);
    const { sent, fetch } = faultyNetwork("response lost");
    const before = await open(clientFor(stack, administrator), id);

    const result = await clientFor(stack, administrator, { fetch }).editContributor(before, { aliases: ["Once"] });

    const changes = await changesOf(stack.sql, "contributor", { id });
    expect([result, sent.length, changes.length]).toEqual([{ status: "saved" }, 2, 1]);
  });

  it.each([
    ["first_name", { first_name: "  " }, "Required parameters missing"],
    ["first_name", { first_name: "a\u0000" }, "Invalid parameter: first_name"],
    ["gender", { gender: "a".repeat(256) }, "Invalid parameter: gender"],
    ["aliases", { aliases: ["a\nb"] }, "Invalid parameter: added_aliases"],
    ["descriptions", { descriptions: [{ language: "en" }] }, "Invalid parameter: added_descriptions"],
    ["relations", { relations: [{ relation_id: 999_999, relation_type: "a" }] }, "Invalid parameter: added_relations"],
    ["links", { links: ["javascript:alert(1)"] }, "Invalid parameter: links"],
  ])("names the form's field %s if %j is invalid", async (field, form, message) => {
    const colophon = clientFor(stack, administrator);
    const before = await open(colophon, (await aContributor(stack.sql)).id);

    expect(await colophon.editContributor(before, form)).toEqual({ status: "invalid", field, message });
  });

  it("throws for what the record was opened without: fields, or its version", async () => {
    const id = await aFullContributor();
    const colophon = clientFor(stack, administrator);
    const { data, version } = await open(colophon, id, false);

    for (const form of [{ public: false }, { type: "author" }])
      await expect(colophon.editContributor({ data, version }, form)).rejects.toThrow(TypeError);
    await expect(colophon.editContributor({ data, version: "" }, { gender: "male" })).rejects.toThrow(TypeError);
    expect((await open(colophon, id, false)).version).toBe(version);
  });
});

describe("Edits of each kind", () => {
  interface Kind {
    readonly make: () => Promise<{ readonly id: number }>;
    readonly open: (colophon: Colophon, id: number) => Promise<Opened<object>>;
    // biome-ignore lint/suspicious/noExplicitAny: forms of every kind
    readonly edit: (colophon: Colophon) => (opened: any, form: any, options?: any) => Promise<any>;
    /** What two editors change, and a name. */
    readonly forms: readonly [mine: object, theirs: object];
    readonly name: string;
    readonly taken: string;
  }
  const kinds: Readonly<Record<string, Kind>> = {
    contributor: {
      make: () => aContributor(stack.sql),
      open: (colophon, id) => open(colophon, id),
      edit: (colophon) => colophon.editContributor,
      forms: [{ type: "mine" }, { gender: "theirs" }],
      name: "first_name",
      taken: "Contributor with this Name exists already.",
    },
    user: {
      make: () => aUser(stack.sql),
      open: openUser,
      edit: (colophon) => colophon.editUser,
      forms: [{ age_verified: true }, { username: `Renamed ${crypto.randomUUID()}` }],
      name: "username",
      taken: "Username already taken",
    },
    role: {
      make: () => aRole(stack.sql),
      open: openRole,
      edit: (colophon) => colophon.editRole,
      forms: [{ description: "Mine" }, { name: `Renamed ${crypto.randomUUID()}` }],
      name: "name",
      taken: "Role with the same name already exists",
    },
  };
  const editAs = ({ edit }: Kind, person: { token: string } | undefined, ...input: [Opened<object>, object, object?]) =>
    edit(clientFor(stack, person))(...input);

  it.each(Object.entries(kinds))("are a conflict beside another one, and then made to it: a %s", async (_, kind) => {
    const colophon = clientFor(stack, administrator);
    const { id } = await kind.make();
    const before = await kind.open(colophon, id);
    const [mine, theirs] = kind.forms;
    expect(await editAs(kind, colleague, before, theirs)).toEqual({ status: "saved" });
    const form = { ...before.data, ...mine };

    const result = await editAs(kind, administrator, before, form);
    expect(result).toEqual({ status: "conflict", current: await kind.open(clientFor(stack, colleague), id) });
    expect(await editAs(kind, administrator, before, form, { onto: result.current })).toEqual({ status: "saved" });

    expect((await kind.open(colophon, id)).data).toMatchObject({ ...theirs, ...mine });
  });

  it.each(Object.entries(kinds))("are taken, invalid or refused: a %s", async (_, kind) => {
    const colophon = clientFor(stack, administrator);
    const [before, other] = [
      await kind.open(colophon, (await kind.make()).id),
      await kind.open(colophon, (await kind.make()).id),
    ];
    const taken = { [kind.name]: other.data[kind.name as keyof object] };
    const [mine] = kind.forms;

    expect(await editAs(kind, administrator, before, taken)).toEqual({ status: "taken", message: kind.taken });
    const empty = { [kind.name]: " " };
    expect(await editAs(kind, administrator, before, empty)).toMatchObject({ status: "invalid", field: kind.name });
    for (const [person, code] of [
      [undefined, 401],
      [reader, 403],
    ] as const)
      expect(await editAs(kind, person, before, mine)).toMatchObject({ status: "refused", error: { code } });
  });

  it("send of a user's and a role's elements what has changed, and name these fields", async () => {
    const { colophon, bodies } = recording();
    const [user, one, two] = [await aUser(stack.sql), await aRole(stack.sql), await aRole(stack.sql, "view-users")];
    await give(stack.sql, user, one);
    const before = await openUser(colophon, user.id);
    expect(await lockHolderOf(stack.sql, user)).toBe(administrator.id);
    const role = await openRole(colophon, two.id);
    const [permission] = role.data.permissions;

    await colophon.editUser(before, { ...before.data });
    await colophon.editUser(before, { roles: [{ id: two.id }] });
    await colophon.editUser(await openUser(colophon, user.id), { roles: null });
    await colophon.editRole(role, { description: null, permissions: [] });

    const fallback = await defaultRoleId(stack.sql);
    const { roles } = before.data;
    expect(bodies()).toEqual([
      {},
      { added_roles: [two.id], removed_roles: roles.map(({ id }) => id) },
      { removed_roles: [two.id] },
      { name: two.name, description: "", removed_permissions: [permission?.id] },
    ]);
    expect([await roleIdsOf(stack.sql, user), await lockHolderOf(stack.sql, user)]).toEqual([[fallback], undefined]);
    const unknown = [999_999];
    const again = await openUser(colophon, user.id);
    expect(await colophon.editUser(again, { roles: unknown })).toMatchObject({ status: "invalid", field: "roles" });
    const current = await openRole(colophon, two.id);
    expect(await colophon.editRole(current, { permissions: unknown })).toMatchObject({ field: "permissions" });
  });
});

describe("An avatar that is uploaded while a form is open", () => {
  const aFile = async () => new Blob([new Uint8Array(await plain().png().toBuffer())], { type: "image/png" });

  it("leaves the form to be saved without a conflict, but hides none with another user", async () => {
    const colophon = clientFor(stack, administrator);
    const before = await open(colophon, (await aContributor(stack.sql)).id);

    const result = await colophon.updateAvatar(before, await aFile());
    if (result.status !== "saved") throw new Error(result.error.data);
    expect(result.opened).toEqual({
      data: { ...before.data, image: expect.stringMatching(/^https/) },
      version: expect.not.stringMatching(before.version),
    });
    expect(await colophon.editContributor(result.opened, { ...before.data, gender: "female" })).toEqual({
      status: "saved",
    });

    const late = await colophon.updateAvatar(before, await aFile());
    if (late.status !== "saved") throw new Error(late.error.data);
    expect(await colophon.editContributor(late.opened, { gender: "male" })).toMatchObject({ status: "conflict" });
  });

  it("is refused if it is no image, and too large a file is not sent", async () => {
    const { sent, fetch } = faultyNetwork();
    const colophon = clientFor(stack, administrator, { fetch });
    const before = await open(clientFor(stack, administrator), (await aContributor(stack.sql)).id);

    expect(await colophon.updateAvatar(before, new Blob(["no image"]))).toEqual({
      status: "refused",
      error: { code: 500, data: "An error occurred while updating the contributor avatar" },
    });
    await expect(colophon.updateAvatar(before, new Blob([new Uint8Array(4_600_000)]))).rejects.toThrow(RangeError);
    expect(sent).toHaveLength(1);
  });
});
