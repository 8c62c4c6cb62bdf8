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

  it("is in the order of ids, and of the time of change, forwards and backwards", async () => {
    await age(table);

    const expected = {
      "id-asc": ids,
      "id-desc": ids.toReversed(),
      "changed-desc": ids,
      "changed-asc": ids.toReversed(),
    };
    for (const [order, sorted] of Object.entries(expected))
      expect([order, await idsOf(list, { order })]).toEqual([order, sorted]);
  });

  it("returns the records of these ids, in its order and pages, with their number", async () => {
    const [first = 0, , third = 0] = ids.toReversed();
    const query = { ids: `${third},999999999,${first},${third}` };

    expect(await idsOf(list, { ...query, order: "id-desc" })).toEqual([first, third]);
    const answer = await get(list, query);
    if (!Array.isArray(answer)) expect(answer).toMatchObject({ max: 2, from: 0, to: 2 });
    if (!Array.isArray(answer))
      expect(await idsOf(list, { ...query, order: "id-desc", limit: 1, offset: 1 })).toEqual([third]);
    expect(await idsOf(list, { ids: 999999999 })).toEqual([]);
  });

  it("shows the time of change on request alone, and not what it does not declare", async () => {
    await age(table);

    for (const each of recordsIn(await get(list))) expect(each).not.toHaveProperty("changed");
    const first = recordsIn(await get(list, { include: "changed", order: "id-asc" }))[0];
    const changed = Date.parse("2026-01-01T00:00:00.123Z") - Number(ids[0]) * 3_600_000;
    expect(first).toMatchObject({ changed: new Date(changed).toISOString() });
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
    ["contributor_links", { position: 1, url: "https://example.com/" }, { url: "https://example.com/other" }],
    ["contributor_aliases", { name: "Other" }, { name: "Another" }],
    ["contributor_descriptions", { language: "English", description: "One" }, { description: "Other" }],
    ["contributor_relations", { relation_type: "friend" }, { relation_type: "enemy" }],
  ])("of a contributor is that of its %s, too", async (table, columns, others) => {
    const [{ id }, friend] = [await aContributor(stack.sql), await aContributor(stack.sql)];
    const relation = table === "contributor_relations" ? { relation_id: friend.id } : {};
    const [other] = Object.entries(others);
    const element = identifier(table);

    for (const act of [
      () => add(stack.sql, table, { contributor_id: id, ...relation, ...columns }),
      () =>
        stack.sql`update ${element} set ${identifier(other?.[0] ?? "")} = ${other?.[1]} where contributor_id = ${id}`,
      () => stack.sql`delete from ${element} where contributor_id = ${id}`,
    ])
      expect(await isChangedBy("contributors/list", id, act)).toBe(true);
    expect(
      await isChangedBy("contributors/list", friend.id, () =>
        add(stack.sql, table, { contributor_id: id, ...relation, ...columns }),
      ),
    ).toBe(false);
  });

  it("of a contributor is that of a relation, which ends when the other one is deleted", async () => {
    const [person, friend] = [await aContributor(stack.sql), await aContributor(stack.sql)];
    await relate(stack.sql, person, friend);

    const act = () => stack.sql`delete from contributors where id = ${friend.id}`;
    expect(await isChangedBy("admin-contributors/list", person.id, act)).toBe(true);
  });

  it("of publishers, users and roles is that of their elements, too", async () => {
    const [publisher, role] = [await aPublisher(stack.sql), await aRole(stack.sql)];
    const user = await aUser(stack.sql, "Ada");
    const permission_id = await permissionId(stack.sql, "view-users");

    for (const [list, id, act] of [
      [
        "publishers/list",
        publisher.id,
        () => add(stack.sql, "publisher_aliases", { publisher_id: publisher.id, title: "A", language: "English" }),
      ],
      ["publishers/list", publisher.id, () => stack.sql`delete from publisher_aliases`],
      ["admin-users/list", user.id, () => give(stack.sql, user, role)],
      ["admin-users/list", user.id, () => stack.sql`delete from user_roles where user_id = ${user.id}`],
      ["admin-roles/list", role.id, () => add(stack.sql, "role_permissions", { role_id: role.id, permission_id })],
      ["admin-roles/list", role.id, () => stack.sql`delete from role_permissions where role_id = ${role.id}`],
    ] as const)
      expect([list, await isChangedBy(list, id, act)]).toEqual([list, true]);
  });

  it("of a series is that of all that its page shows of it, but not that of its contributors and publishers", async () => {
    const [series, by, from] = [await aSeries(stack.sql), await aContributor(stack.sql), await aPublisher(stack.sql)];
    const series_id = series.id;
    const [one, other] = [
      await add(stack.sql, "tags", { name: "one" }),
      await add(stack.sql, "tags", { name: "other" }),
    ];
    for (const [table, columns, edited] of [
      ["series_aliases", { name: "A", language: "English" }, { name: "B" }],
      ["series_descriptions", { description: "A", language: "English" }, { description: "B" }],
      ["series_tags", { tag_id: one.id }, { tag_id: other.id }],
      ["volumes", { number: 1 }, { cover: "covers/1.webp" }],
      ["series_contributors", { contributor_id: by.id }, { role: "author" }],
      ["series_publishers", { publisher_id: from.id }, undefined],
    ] as const) {
      const element = identifier(table);
      const [[column = "", value = null] = []] = Object.entries(edited ?? {});
      for (const [event, act] of Object.entries({
        insert: () => stack.sql`insert into ${element} ${row({ series_id, ...columns })}`,
        ...(edited && {
          update: () =>
            stack.sql`update ${element} set ${identifier(column)} = ${value} where series_id = ${series_id}`,
        }),
        delete: () => stack.sql`delete from ${element} where series_id = ${series_id}`,
      }))
        expect([table, event, await isChangedBy("series/list", series_id, act)]).toEqual([table, event, true]);
    }
    const elsewhere = () => stack.sql`update contributors set gender = 'female' where id = ${by.id}`;
    expect(await isChangedBy("series/list", series_id, elsewhere)).toBe(false);
    const [listed] = recordsIn(await get("series/list", { include: "added,changed", ids: series_id }));
    const path = { slug: series.slug };
    const { body } = await stack.call("series/slug", { path, query: { include: "changed,added" } });
    expect(body).toMatchObject({ added: listed?.added, changed: listed?.changed });
    expect((await stack.call("series/slug", { path })).body).not.toHaveProperty("changed");
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
  it("returns 200 with the users of a role by the time of change, and by id", async () => {
    const role = await aRole(stack.sql);
    const users = [];
    for (const name of ["B", "A", "C"]) users.push(await aUser(stack.sql, `${name} ${Math.random()}`));
    for (const user of users) await give(stack.sql, user, role);
    await age("users");
    const ids = users.map(({ id }) => id);

    const answer = await get("admin-users/list", { role: role.id, order: "changed-desc", limit: 2 });
    expect(answer).toMatchObject({ max: 3, from: 0, to: 2 });
    expect(recordsIn(answer).map(({ id }) => id)).toEqual(ids.slice(0, 2));
    expect(await idsOf("admin-users/list", { role: role.id, order: "id-desc" })).toEqual(ids.toReversed());
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

  it("returns 200 with those that are published or not, and with a link or not, and their number", async () => {
    await stack.sql`delete from contributors`;
    const make = async (first_name: string, isPublic: boolean, hasLink: boolean) => {
      const { id } = await aContributor(stack.sql, { first_name, public: isPublic });
      if (hasLink)
        await add(stack.sql, "contributor_links", { contributor_id: id, position: 1, url: "https://example.com/" });
      return id;
    };
    const [both, published, linked, none] = [
      await make("A", true, true),
      await make("B", true, false),
      await make("C", false, true),
      await make("D", false, false),
    ];

    for (const [query, expected] of [
      [{ public: "true" }, [both, published]],
      [{ public: "false" }, [linked, none]],
      [{ website: "true" }, [both, linked]],
      [{ website: "false" }, [published, none]],
      [{ public: "false", website: "true", search: "c" }, [linked]],
      [{ public: "true", website: "true", search: "c" }, []],
    ] as const) {
      expect([query, await idsOf("admin-contributors/list", query)]).toEqual([query, expected]);
      expect(await get("admin-contributors/list", { ...query, limit: 1 })).toMatchObject({ max: expected.length });
    }
  });
});

describe("GET /publishers", () => {
  it("returns 200 with the publishers in a client's scope, their number, and their series in it", async () => {
    await stack.sql`delete from publishers`;
    const [shared, first, second] = [
      await aPublisher(stack.sql),
      await aPublisher(stack.sql, { client_id: 1 }),
      await aPublisher(stack.sql, { client_id: 2 }),
    ];
    for (const client_id of [null, 1, 2]) await aSeries(stack.sql, { from: shared }, { client_id });

    expect(await get("publishers/list")).toMatchObject({ max: 2, count: 2 });
    expect(await idsOf("publishers/list")).toEqual([shared.id, first.id]);
    expect(await idsOf("publishers/list", { client: 2, order: "id-desc" })).toEqual([second.id, shared.id]);
    expect(recordsIn(await get("publishers/list"))[0]).toMatchObject({ series_count: 2 });
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
