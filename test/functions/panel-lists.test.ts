import { raw } from "sql-template-tag";
import { beforeEach, describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor, add, aPublisher, aSeries, relate } from "../support/catalogue.ts";
import { identifier, row } from "../support/database.ts";
import { invalidParameter } from "../support/envelope.ts";
import { aUser } from "../support/people.ts";
import { aPermission, aRole, give, permissionId } from "../support/records.ts";
import { useStack } from "../support/stack.ts";

/* What panels and websites ask lists for beyond the interface. */

const stack = useStack();
const administrator = useAdministrator(stack);

type Query = Readonly<Record<string, string | number>>;
type Shown = Readonly<Record<string, unknown>> & { readonly id: number };

/** Each list with its table, and how a record is made. */
const lists = {
  "contributors/list": ["contributors", () => aContributor(stack.sql)],
  "publishers/list": ["publishers", () => aPublisher(stack.sql)],
  "series/list": ["series", () => aSeries(stack.sql)],
  "admin-contributors/list": ["contributors", () => aContributor(stack.sql, { public: false })],
  "admin-users/list": ["users", () => aUser(stack.sql, `user ${Math.random()}`)],
  "admin-roles/list": ["roles", () => aRole(stack.sql)],
  "admin-permissions/list": ["permissions", () => aPermission(stack.sql)],
} as const;
type List = keyof typeof lists;
const names = Object.keys(lists) as readonly List[];
const administrative = names.filter((name) => name.startsWith("admin-"));

const get = async (list: List, query: Query = {}) =>
  (await administrator.call(list, { query: { client: 1, ...query } })).body;
const recordsIn = (body: object): readonly Shown[] =>
  Array.isArray(body) ? body : (Object.values(body).find(Array.isArray) ?? []);
const idsOf = async (list: List, query?: Query) => recordsIn(await get(list, query)).map(({ id }) => id);

const longAgo = raw("timestamptz '2026-01-01T00:00:00.123456Z'");

/** Lets the records of a table be changed long ago, each an hour after the one with the next id. */
const age = async (table: string) => {
  if (table === "contributors")
    return await stack.sql`update contributor_changes set changed_at = ${longAgo} - contributor_id * interval '1 hour'`;
  await stack.sql`alter table ${identifier(table)} disable trigger note_change`;
  await stack.sql`update ${identifier(table)} set changed_at = ${longAgo} - id * interval '1 hour'`;
  return await stack.sql`alter table ${identifier(table)} enable trigger note_change`;
};

describe.each(names)("The list %s", (list) => {
  const [table, add] = lists[list];
  let ids: number[];

  beforeEach(async () => {
    if (table !== "permissions" && table !== "roles" && table !== "users")
      await stack.sql`delete from ${identifier(table)}`;
    await add();
    await add();
    await add();
    ids = (await stack.sql`select id from ${identifier(table)} order by id`).map(({ id }) => id);
  });

  it.each([
    { order: "id-asc", isReversed: false },
    { order: "id-desc", isReversed: true },
    { order: "changed-desc", isReversed: false },
    { order: "changed-asc", isReversed: true },
  ])("has the order $order", async ({ order, isReversed }) => {
    // The record with the next id was changed an hour before.
    await age(table);

    expect(await idsOf(list, { order })).toEqual(isReversed ? ids.toReversed() : ids);
  });

  it("returns the records of these ids in its order", async () => {
    const [first = 0, , third = 0] = ids.toReversed();

    const found = await idsOf(list, { ids: `${third},999999999,${first},${third}`, order: "id-desc" });

    expect(found).toEqual([first, third]);
  });

  it("returns no record for an id that none has", async () => {
    expect(await idsOf(list, { ids: 999999999 })).toEqual([]);
  });

  if (list !== "admin-roles/list" && list !== "admin-permissions/list")
    it("returns the records of these ids by pages, with their number", async () => {
      const [first = 0, , third = 0] = ids.toReversed();
      const query = { ids: `${third},999999999,${first}`, order: "id-desc", limit: 1, offset: 1 };

      expect(await get(list, query)).toMatchObject({ max: 2, from: 1, to: 2 });
      expect(await idsOf(list, query)).toEqual([third]);
    });

  it("shows the time of change on request", async () => {
    await age(table);

    const [first] = recordsIn(await get(list, { include: "changed", order: "id-asc" }));

    const changed = Date.parse("2026-01-01T00:00:00.123Z") - Number(ids[0]) * 3_600_000;
    expect(first).toMatchObject({ changed: new Date(changed).toISOString() });
  });

  it("shows no time of change without a request", async () => {
    for (const each of recordsIn(await get(list))) expect(each).not.toHaveProperty("changed");
  });

  it("is 400 where include has a word that it does not declare", async () => {
    expect(await get(list, { include: "changed,everything" })).toEqual(invalidParameter("include"));
  });
});

describe.each(administrative)("The administrative list %s", (list) => {
  it("shows versions on request alone, as an edit expects them", async () => {
    const [table, add] = lists[list];
    await add();
    const versions = async () =>
      recordsIn(await get(list, { include: "version", order: "id-asc" })).map(({ version }) => version);
    const stored = () => stack.sql`select version from ${identifier(table)} order by id`;
    await stack.sql`update ${identifier(table)} set version = id + 7`;

    expect(await versions()).toEqual((await stored()).map(({ version }) => version));
    for (const each of recordsIn(await get(list))) expect(each).not.toHaveProperty("version");
  });
});

describe("The time of change", () => {
  const changed = async (list: List, id: number) =>
    recordsIn(await get(list, { include: "changed" })).find((each) => each.id === id)?.changed;
  /** Whether these statements change the record. */
  const isChangedBy = async (list: List, id: number, act: () => PromiseLike<unknown>) => {
    await age(lists[list][0]);
    const before = await changed(list, id);
    await act();
    return (await changed(list, id)) !== before;
  };

  it.each([
    {
      table: "contributor_links",
      element: { position: 1, url: "https://example.com/" },
      edited: { url: "https://example.com/other" },
    },
    { table: "contributor_aliases", element: { name: "Other" }, edited: { name: "Another" } },
    {
      table: "contributor_descriptions",
      element: { language: "English", description: "One" },
      edited: { description: "Other" },
    },
    { table: "contributor_relations", element: { relation_type: "friend" }, edited: { relation_type: "enemy" } },
  ])("of a contributor is that of its $table, too", async ({ table, element, edited }) => {
    const [{ id }, friend] = [await aContributor(stack.sql), await aContributor(stack.sql)];
    const relation = table === "contributor_relations" ? { relation_id: friend.id } : {};
    const [[column = "", value] = []] = Object.entries(edited);
    const name = identifier(table);
    const insert = () => add(stack.sql, table, { contributor_id: id, ...relation, ...element });
    const update = () =>
      stack.sql`update ${name} set ${identifier(column)} = ${value ?? null} where contributor_id = ${id}`;
    const remove = () => stack.sql`delete from ${name} where contributor_id = ${id}`;

    for (const act of [insert, update, remove]) expect(await isChangedBy("contributors/list", id, act)).toBe(true);
    expect(await isChangedBy("contributors/list", friend.id, insert)).toBe(false);
  });

  it("of a contributor is that of a relation, which ends when the other one is deleted", async () => {
    const [person, friend] = [await aContributor(stack.sql), await aContributor(stack.sql)];
    await relate(stack.sql, person, friend);

    const act = () => stack.sql`delete from contributors where id = ${friend.id}`;
    expect(await isChangedBy("admin-contributors/list", person.id, act)).toBe(true);
  });

  it("of a publisher is that of its aliases, too", async () => {
    const { id } = await aPublisher(stack.sql);
    const insert = () => add(stack.sql, "publisher_aliases", { publisher_id: id, title: "A", language: "English" });
    const remove = () => stack.sql`delete from publisher_aliases`;

    for (const act of [insert, remove]) expect(await isChangedBy("publishers/list", id, act)).toBe(true);
  });

  it("of a user is that of the user's roles, too", async () => {
    const [user, role] = [await aUser(stack.sql, "Ada"), await aRole(stack.sql)];
    const insert = () => give(stack.sql, user, role);
    const remove = () => stack.sql`delete from user_roles where user_id = ${user.id}`;

    for (const act of [insert, remove]) expect(await isChangedBy("admin-users/list", user.id, act)).toBe(true);
  });

  it("of a role is that of its permissions, too", async () => {
    const { id } = await aRole(stack.sql);
    const permission_id = await permissionId(stack.sql, "view-users");
    const insert = () => add(stack.sql, "role_permissions", { role_id: id, permission_id });
    const remove = () => stack.sql`delete from role_permissions where role_id = ${id}`;

    for (const act of [insert, remove]) expect(await isChangedBy("admin-roles/list", id, act)).toBe(true);
  });

  it.each([
    { table: "series_aliases", element: { name: "A", language: "English" }, edited: { name: "B" } },
    { table: "series_descriptions", element: { description: "A", language: "English" }, edited: { description: "B" } },
    { table: "volumes", element: { number: 1 }, edited: { cover: "covers/1.webp" } },
  ])("of a series is that of its $table, too", async ({ table, element, edited }) => {
    const { id } = await aSeries(stack.sql);
    const name = identifier(table);
    const [[column = "", value = null] = []] = Object.entries(edited);
    const insert = () => stack.sql`insert into ${name} ${row({ series_id: id, ...element })}`;
    const update = () => stack.sql`update ${name} set ${identifier(column)} = ${value} where series_id = ${id}`;
    const remove = () => stack.sql`delete from ${name} where series_id = ${id}`;

    for (const act of [insert, update, remove]) expect(await isChangedBy("series/list", id, act)).toBe(true);
  });

  it("of a series is that of its tags, too", async () => {
    const { id } = await aSeries(stack.sql);
    const [one, other] = [
      await add(stack.sql, "tags", { name: "one" }),
      await add(stack.sql, "tags", { name: "other" }),
    ];
    const insert = () => add(stack.sql, "series_tags", { series_id: id, tag_id: one.id });
    const update = () => stack.sql`update series_tags set tag_id = ${other.id} where series_id = ${id}`;
    const remove = () => stack.sql`delete from series_tags where series_id = ${id}`;

    for (const act of [insert, update, remove]) expect(await isChangedBy("series/list", id, act)).toBe(true);
  });

  it("of a series is that of which contributors and publishers it has, too", async () => {
    const [{ id }, by, from] = [await aSeries(stack.sql), await aContributor(stack.sql), await aPublisher(stack.sql)];

    for (const act of [
      () => stack.sql`insert into series_contributors ${row({ series_id: id, contributor_id: by.id })}`,
      () => stack.sql`update series_contributors set role = 'author' where series_id = ${id}`,
      () => stack.sql`delete from series_contributors where series_id = ${id}`,
      () => stack.sql`insert into series_publishers ${row({ series_id: id, publisher_id: from.id })}`,
      () => stack.sql`delete from series_publishers where series_id = ${id}`,
    ])
      expect(await isChangedBy("series/list", id, act)).toBe(true);
  });

  it("of a series is not that of its contributors", async () => {
    const by = await aContributor(stack.sql);
    const { id } = await aSeries(stack.sql, { by });

    const edit = () => stack.sql`update contributors set gender = 'female' where id = ${by.id}`;

    expect(await isChangedBy("series/list", id, edit)).toBe(false);
  });

  it("of a series is in its detail on request, as in the list", async () => {
    const { id, slug } = await aSeries(stack.sql);
    const [listed] = recordsIn(await get("series/list", { include: "added,changed", ids: id }));

    const { body } = await stack.call("series/slug", { path: { slug }, query: { include: "changed,added" } });

    expect(body).toMatchObject({ added: listed?.added, changed: listed?.changed });
    expect((await stack.call("series/slug", { path: { slug } })).body).not.toHaveProperty("changed");
  });

  it("stays when an edit changes nothing", async () => {
    const { id, name } = await aRole(stack.sql);
    const edit = () => administrator.call("admin-roles/edit", { path: { id }, body: { name } });

    expect(await isChangedBy("admin-roles/list", id, edit)).toBe(false);
    const rename = () => administrator.call("admin-roles/edit", { path: { id }, body: { name: `${name}!` } });
    expect(await isChangedBy("admin-roles/list", id, rename)).toBe(true);
  });
});

describe.each(["contributors/list", "publishers/list", "series/list"] as const)("The list %s", (list) => {
  it("returns 200 with the records that have been changed since then, and their number", async () => {
    const [table, make] = lists[list];
    await stack.sql`delete from ${identifier(table)}`;
    const ids = [(await make()).id, (await make()).id, (await make()).id];
    await age(table);
    const second = recordsIn(await get(list, { include: "changed", order: "changed-asc" }))[1];

    const query = { "changed-since": `${second?.changed}`, order: "changed-asc" };
    expect(await idsOf(list, query)).toEqual(ids.toReversed().slice(1));
    expect(await get(list, { ...query, limit: 1 })).toMatchObject({ max: 2, from: 0, to: 1 });
    expect(await idsOf(list, { "changed-since": "2026-01-01T02:00:00+02:00" })).toEqual([]);
  });

  it.each(["2026", "2026-11-20", "2026-11-20T10:15:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-10:00", "now"])(
    "returns 400 for what is no time with an offset: %s",
    async (since) => {
      expect(await get(list, { "changed-since": since })).toEqual(invalidParameter("changed-since"));
    },
  );
});

describe("GET /admin-users", () => {
  let role: number;
  let ids: number[];

  beforeEach(async () => {
    const { id } = await aRole(stack.sql);
    const users = [];
    for (const name of ["B", "A", "C"]) users.push(await aUser(stack.sql, `${name} ${Math.random()}`));
    for (const user of users) await give(stack.sql, user, { id });
    await age("users");
    [role, ids] = [id, users.map((user) => user.id)];
  });

  it("returns 200 with a page of the users of a role by the time of change", async () => {
    const answer = await get("admin-users/list", { role, order: "changed-desc", limit: 2 });

    expect(answer).toMatchObject({ max: 3, from: 0, to: 2 });
    expect(recordsIn(answer).map(({ id }) => id)).toEqual(ids.slice(0, 2));
  });

  it("returns 200 with the users of a role by id", async () => {
    expect(await idsOf("admin-users/list", { role, order: "id-desc" })).toEqual(ids.toReversed());
  });
});

describe("GET /admin-contributors", () => {
  it("returns 200 with those of a type, and their number", async () => {
    await stack.sql`delete from contributors`;
    const writer = await aContributor(stack.sql, { type: "writer" });
    await aContributor(stack.sql, { type: "studio", public: true });

    expect(await idsOf("admin-contributors/list", { type: "writer" })).toEqual([writer.id]);
    expect(await get("admin-contributors/list", { type: "writer", limit: 1 })).toMatchObject({ max: 1 });
    expect(await idsOf("admin-contributors/list", { type: "writer", public: "false" })).toEqual([]);
    expect(await idsOf("admin-contributors/list", { type: "write" })).toEqual([]);
  });

  describe("with published and linked contributors", () => {
    const make = async (first_name: string, isPublic: boolean, hasLink: boolean) => {
      const { id } = await aContributor(stack.sql, { first_name, public: isPublic });
      if (hasLink)
        await add(stack.sql, "contributor_links", { contributor_id: id, position: 1, url: "https://example.com/" });
      return id;
    };
    let both: number;
    let published: number;
    let linked: number;
    let none: number;

    beforeEach(async () => {
      await stack.sql`delete from contributors`;
      both = await make("A", true, true);
      published = await make("B", true, false);
      linked = await make("C", false, true);
      none = await make("D", false, false);
    });

    it.each([
      { which: "that are published", query: { public: "true" }, expected: () => [both, published] },
      { which: "that are not published", query: { public: "false" }, expected: () => [linked, none] },
      { which: "with a link", query: { website: "true" }, expected: () => [both, linked] },
      { which: "without a link", query: { website: "false" }, expected: () => [published, none] },
      {
        which: "that a search finds and all filters select",
        query: { public: "false", website: "true", search: "c" },
        expected: () => [linked],
      },
      {
        which: "of which none is found and selected",
        query: { public: "true", website: "true", search: "c" },
        expected: () => [],
      },
    ])("returns 200 with those $which, and their number", async ({ query, expected }) => {
      expect(await idsOf("admin-contributors/list", query)).toEqual(expected());
      expect(await get("admin-contributors/list", { ...query, limit: 1 })).toMatchObject({ max: expected().length });
    });
  });
});

describe("GET /publishers", () => {
  let shared: Shown;
  let first: Shown;
  let second: Shown;

  beforeEach(async () => {
    await stack.sql`delete from publishers`;
    const publisher = await aPublisher(stack.sql);
    shared = { ...publisher };
    first = { ...(await aPublisher(stack.sql, { client_id: 1 })) };
    second = { ...(await aPublisher(stack.sql, { client_id: 2 })) };
    for (const client_id of [null, 1, 2]) await aSeries(stack.sql, { from: publisher }, { client_id });
  });

  it("returns 200 with the publishers in a client's scope, and their number", async () => {
    expect(await get("publishers/list")).toMatchObject({ max: 2, count: 2 });
    expect(await idsOf("publishers/list")).toEqual([shared.id, first.id]);
    expect(await idsOf("publishers/list", { client: 2, order: "id-desc" })).toEqual([second.id, shared.id]);
  });

  it("returns 200 with the number of their series in the client's scope", async () => {
    expect(recordsIn(await get("publishers/list"))[0]).toMatchObject({ series_count: 2 });
  });

  it("returns 200 with all publishers and series without a client", async () => {
    const { body } = await administrator.call("publishers/list", { query: {} });

    expect(body).toMatchObject({ max: 3, publishers: [{ series_count: 3 }, {}, {}] });
  });
});

describe.each(["admin-roles/list", "admin-permissions/list"] as const)("The list %s", (list) => {
  it("returns 200 with the records whose names have all words of a search", async () => {
    const [table] = lists[list];
    const { id } = await lists[list][1]();
    await stack.sql`update ${identifier(table)} set name = ${"Élan, O’Malley"} where id = ${id}`;

    for (const search of ["omalley ELAN", "o'malley", "é"]) expect(await idsOf(list, { search })).toContain(id);
    expect(await idsOf(list, { search: "elan tezuka" })).toEqual([]);
  });

  it("returns 200 with a page", async () => {
    const all = await idsOf(list);

    expect(await idsOf(list, { limit: 2, offset: 1 })).toEqual(all.slice(1, 3));
    expect(await idsOf(list, { limit: 0 })).toEqual([]);
    expect(await get(list, { limit: -1 })).toEqual(invalidParameter("limit"));
  });
});

describe("GET /admin-roles", () => {
  it("returns 200 with the roles that give a permission", async () => {
    const [viewing, editing] = [
      await permissionId(stack.sql, "view-users"),
      await permissionId(stack.sql, "edit-users"),
    ];
    const [viewer, editor] = [await aRole(stack.sql, "view-users"), await aRole(stack.sql, "view-users", "edit-users")];

    const found = await idsOf("admin-roles/list", { permission: viewing });
    expect(found).toEqual(expect.arrayContaining([viewer.id, editor.id]));
    const editors = await idsOf("admin-roles/list", { permission: editing });
    expect([editors.includes(viewer.id), editors.includes(editor.id)]).toEqual([false, true]);
    expect(await idsOf("admin-roles/list", { permission: 999_999_999 })).toEqual([]);
  });
});
