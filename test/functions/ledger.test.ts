import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { endpointPath } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { useAdministrator } from "../support/callers.ts";
import { aContributor, type Entry } from "../support/catalogue.ts";
import { identifier } from "../support/database.ts";
import { aUser, type Person } from "../support/people.ts";
import { tinyImage as image } from "../support/pictures.ts";
import { aPermission, aRole, defaultRoleId, give, type Named, permissionId } from "../support/records.ts";
import type { Request } from "../support/stack.ts";
import { useUploads } from "../support/uploads.ts";

const stack = useUploads();
const administrator = useAdministrator(stack);

const longest = "漢".repeat(255);
const permissionsMax = 500;

/** A contributor with all that one may have; the descriptions do not compress well. */
async function aFullContributor(): Promise<Entry> {
  const { sql } = stack;
  const contributor = await aContributor(sql, {
    first_name: `${randomUUID()} ${"漢".repeat(200)}`,
    last_name: longest,
  });
  const { id } = contributor;
  await sql`insert into contributor_aliases (contributor_id, name) select ${id}, ${longest} from generate_series(1, 200)`;
  await sql`
    insert into contributor_descriptions (contributor_id, language, description, source)
    select ${id}, 'English', (select string_agg(md5(random()::text), '') from generate_series(1, 625)), ${longest}
    from generate_series(1, 40)
  `;
  await sql`
    insert into contributor_relations (contributor_id, relation_id, relation_type)
    select ${id}, ${(await aContributor(sql)).id}, ${longest} from generate_series(1, 100)
  `;
  await sql`
    insert into contributor_links (contributor_id, position, url)
    select ${id}, number, rpad('https://example.org/' || number || '/', 2000, 'x') from generate_series(0, 49) as number
  `;
  return contributor;
}

/** A user with 200 roles. */
async function aFullUser(): Promise<Person> {
  const user = await aUser(stack.sql);
  await stack.sql`
    with made as (insert into roles (name) select gen_random_uuid()::text from generate_series(1, 200) returning id)
    insert into user_roles (user_id, role_id) select ${user.id}, id from made
  `;
  return user;
}

/** A role with a long description and as many permissions as it may have. */
async function aFullRole(): Promise<Named> {
  const role = await aRole(stack.sql);
  await stack.sql`
    with made as (
      insert into permissions (name) select gen_random_uuid()::text from generate_series(1, ${permissionsMax}) returning id
    )
    insert into role_permissions (role_id, permission_id) select ${role.id}, id from made
  `;
  await stack.sql`update roles set description = repeat('漢', 2000) where id = ${role.id}`;
  return role;
}

const call = (name: string, request: Omit<Request, "as">) => stack.call(name, { as: administrator.token, ...request });

interface Row {
  readonly asked: Readonly<Record<string, unknown>> | null;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly bytes: number;
}

/** The latest row, with the bytes of all its values before they are compressed. */
async function latest(): Promise<Row> {
  const [row] = await stack.sql<Row[]>`
    select asked, before, octet_length(to_json(changes)::text) as bytes from changes order by id desc limit 1
  `;
  if (!row) throw new Error("The ledger is empty");
  return row;
}

const change = async (name: string, request: Omit<Request, "as">): Promise<Row> => {
  expect((await call(name, request)).status).toBe(200);
  return await latest();
};

const elementsOf = (table: string, { id }: { id: number }) =>
  stack.sql<{ id: number }[]>`select * from ${identifier(table)} where contributor_id = ${id} order by id`;
const linksOf = async ({ id }: { id: number }) =>
  (await stack.sql`select url from contributor_links where contributor_id = ${id} order by position`).map(
    ({ url }) => url,
  );
const namesOf = async ({ id }: { id: number }) =>
  (await stack.sql`select first_name, last_name, public from contributors where id = ${id}`)[0];
const versionOf = async (table: string, { id }: { id: number }) =>
  (await stack.sql`select version from ${identifier(table)} where id = ${id}`)[0]?.version;

describe("A request adds to the ledger at most 4 KB and three times its body", () => {
  let contributor: Entry;
  let user: Person;
  let role: Named;
  let permission: Named;

  beforeAll(async () => {
    contributor = await aFullContributor();
    user = await aFullUser();
    role = await aFullRole();
    permission = await aPermission(stack.sql);
  });

  const requests: Readonly<Record<string, () => Omit<Request, "as"> | Promise<Omit<Request, "as">>>> = {
    "admin-users/edit": () => ({ path: { id: user.id }, body: { username: "E" } }),
    "admin-users/update-image": () => ({ path: { id: user.id }, body: { image } }),
    "admin-users/delete-image": () => ({ path: { id: user.id } }),
    "admin-users/logout": () => ({ path: { id: user.id } }),
    "admin-users/delete": () => ({ path: { id: user.id } }),
    "admin-roles/add": () => ({ body: { name: longest, description: "d" } }),
    "admin-roles/edit": () => ({ path: { id: role.id }, body: { name: "E" } }),
    "admin-permissions/add": () => ({ body: { name: longest, description: "d" } }),
    "admin-permissions/edit": () => ({ path: { id: permission.id }, body: { name: "E", description: "e" } }),
    "admin-contributors/add": () => ({ body: { first_name: longest, last_name: longest } }),
    // Links that are left out are deleted.
    "admin-contributors/edit": async () => ({
      path: { id: contributor.id },
      body: { first_name: "E", links: await linksOf(contributor) },
    }),
    "admin-contributors/update-avatar": () => ({ path: { id: contributor.id }, body: { image } }),
    "admin-contributors/delete-avatar": () => ({ path: { id: contributor.id } }),
  };
  const whole = ["admin-roles/delete", "admin-permissions/delete", "admin-contributors/delete"];
  const nothing = ["admin-users/lock", "admin-contributors/lock"];

  it("is tested for every endpoint but deletions, which record what they delete, and releases of edit locks", () => {
    const changing = endpoints.filter(({ method, permission }) => method !== "GET" && permission).map(endpointPath);

    expect([...Object.keys(requests), ...whole, ...nothing].toSorted()).toEqual(changing.toSorted());
  });

  /** The bytes that a request adds, less what it may add. */
  async function excess(name: string, request: Omit<Request, "as">): Promise<number> {
    const { bytes } = await change(name, request);
    return bytes - 4_096 - 3 * Buffer.byteLength(JSON.stringify(request.body ?? ""));
  }

  it.each(Object.entries(requests))("by %s", async (name, request) => {
    expect(await excess(name, await request())).toBeLessThanOrEqual(0);
  });

  it("by fields, elements and places of a contributor with as much as possible", async () => {
    const full = await aFullContributor();
    const { public: isPublic, ...names } = (await namesOf(full)) ?? {};
    const links = await linksOf(full);
    const [description] = await elementsOf("contributor_descriptions", full);
    const [alias] = await elementsOf("contributor_aliases", full);
    const relations = await elementsOf("contributor_relations", full);
    const ids = (elements: readonly { id: number }[]) => elements.map(({ id }) => ({ id, relation_type: "a" }));
    const edits = [
      { links, public: isPublic },
      { links, public: !isPublic },
      { links: links.toReversed() },
      { links: links.toReversed(), modified_descriptions: [{ id: description?.id, language: "de" }] },
      { links: links.toReversed(), removed_aliases: [alias?.id] },
      { links: links.toReversed(), added_aliases: ["a"] },
      { links: links.toReversed(), modified_relations: ids(relations.slice(0, 3)) },
      { links: [...links.slice(1), "https://example.org/"] },
    ];

    for (const edit of edits) {
      const request = { path: { id: full.id }, body: { ...names, ...edit } };
      expect(await excess("admin-contributors/edit", request)).toBeLessThanOrEqual(0);
    }
  });

  it("by links that become three times as long, and by the largest numbers", async () => {
    const { id } = await aContributor(stack.sql);
    const links = Array.from({ length: 50 }, (_, number) => `https://example.org/${number}/${"é".repeat(300)}`);
    const role = await aRole(stack.sql);
    const removed = Array.from({ length: 200 }, (_, number) => Number.MAX_SAFE_INTEGER - number);

    expect(
      await excess("admin-contributors/edit", { path: { id }, body: { first_name: randomUUID(), links } }),
    ).toBeLessThanOrEqual(0);
    expect(
      await excess("admin-roles/edit", { path: { id: role.id }, body: { name: "N", removed_permissions: removed } }),
    ).toBeLessThanOrEqual(0);
  });

  it("on the disk as well, when a full contributor is edited again and again", async () => {
    const { id } = await aFullContributor();
    const size = async () => (await stack.sql`select pg_total_relation_size('changes')::int as size`)[0]?.size;
    const edit = (flag: boolean) => ({ path: { id }, body: { first_name: "Again", public: flag } });
    await change("admin-contributors/edit", edit(false));
    const before = await size();

    for (let number = 1; number <= 40; number++) await change("admin-contributors/edit", edit(number % 2 === 1));

    expect(((await size()) - before) / 40).toBeLessThan(4_096);
  });
});

describe("The row of an edit has what it replaced, as it was", () => {
  it("of a contributor: fields, elements and links", async () => {
    const contributor = await aContributor(stack.sql, { first_name: randomUUID(), last_name: "Last", type: "author" });
    const path = { id: contributor.id };
    const friends = [await aContributor(stack.sql), await aContributor(stack.sql)];
    const friend = (index: number) => friends[index]?.id;
    const links = ["https://a.example/", "https://b.example/", "https://c.example/"].map((url) => url.slice(0, -1));
    const body = { first_name: "A", last_name: "Last", type: "author", public: true, links };
    const { before } = await change("admin-contributors/edit", {
      path,
      body: {
        ...body,
        added_aliases: ["One", "Two"],
        added_descriptions: ["Long", "Short", "Gone"].map((description) => ({ description, language: "English" })),
        added_relations: ["friend", "teacher", "rival"].map((relation_type, index) => ({
          relation_id: friend(index >> 1),
          relation_type,
        })),
      },
    });
    const ids = async (table: string) => (await elementsOf(table, contributor)).map(({ id }) => id);
    const aliases = await ids("contributor_aliases");
    const descriptions = await ids("contributor_descriptions");
    const relations = await ids("contributor_relations");

    expect(before).toEqual({
      first_name: expect.stringMatching(/^[0-9a-f-]{36}$/),
      links: [],
      added_aliases: aliases,
      added_descriptions: descriptions,
      added_relations: relations,
    });

    const edited = await change("admin-contributors/edit", {
      path,
      body: {
        first_name: "A",
        type: "author",
        links: [links[2], "https://d.example", links[0]],
        removed_aliases: [aliases[0]],
        removed_descriptions: [descriptions[2]],
        modified_descriptions: [
          { id: descriptions[0], description: "Longer", language: "en", source: "Somewhere" },
          { id: descriptions[1], description: "Short" },
          { id: descriptions[2], description: "Going" },
        ],
        removed_relations: [relations[2]],
        modified_relations: [
          { id: relations[0], relation_id: friend(1), relation_type: "friend" },
          { id: relations[1], relation_type: "teacher" },
        ],
      },
    });

    expect(edited.before).toEqual({
      last_name: "Last",
      public: true,
      links: [2, links[1], 0],
      removed_aliases: [{ id: aliases[0], name: "One" }],
      removed_descriptions: [{ id: descriptions[2], description: "Gone", language: "English", source: "" }],
      modified_descriptions: [{ id: descriptions[0], description: "Long", source: "" }],
      removed_relations: [{ id: relations[2], relation_id: friend(1), relation_type: "rival" }],
      modified_relations: [{ id: relations[0], relation_id: friend(0) }],
    });
  });

  it("of a user: name and roles, the default role included", async () => {
    const user = await aUser(stack.sql);
    const role = await aRole(stack.sql);
    await give(stack.sql, user, role);
    await stack.sql`update users set age_verified = true where id = ${user.id}`;
    const edit = (body: object) => change("admin-users/edit", { path: { id: user.id }, body });

    const { before } = await edit({ username: "Renamed user", removed_roles: [role.id, 987_654] });

    expect(before).toEqual({
      username: user.username,
      age_verified: true,
      removed_roles: [role.id],
      added_roles: [await defaultRoleId(stack.sql)],
    });
  });

  it("of a role: name, description and permissions", async () => {
    const role = await aRole(stack.sql, "view-users");
    const [view, edit] = [await permissionId(stack.sql, "view-users"), await permissionId(stack.sql, "edit-users")];
    const name = "Renamed role";
    const path = { id: role.id };

    const named = await change("admin-roles/edit", {
      path,
      body: { name, added_permissions: [view, edit], removed_permissions: [987_654] },
    });
    const described = await change("admin-roles/edit", {
      path,
      body: { name, description: "", removed_permissions: [view] },
    });

    expect(named.before).toEqual({ name: role.name, added_permissions: [edit] });
    expect(described.before).toEqual({ description: "Made for a test", removed_permissions: [view] });
  });

  it("of a permission, of an image and of a logout", async () => {
    const permission = await aPermission(stack.sql);
    const { name } = permission;
    const user = await aUser(stack.sql);

    const { before } = await change("admin-permissions/edit", {
      path: { id: permission.id },
      body: { name, description: "New" },
    });

    expect(before).toEqual({ description: "" });
    const path = { id: user.id };
    expect((await change("admin-users/update-image", { path, body: { image } })).before).toEqual({ image: null });
    expect((await change("admin-users/delete-image", { path })).before).toEqual({ image: expect.any(String) });
    expect((await change("admin-users/logout", { path })).before).toBeNull();
  });

  it("of a deleted contributor: everything that went with it", async () => {
    const contributor = await aContributor(stack.sql);
    const other = await aContributor(stack.sql);
    const [relation] = await stack.sql`
      insert into contributor_relations (contributor_id, relation_id, relation_type)
      values (${other.id}, ${contributor.id}, 'friend')
      returning *
    `;
    const [series] = await stack.sql`insert into series (name, slug) values ('S', ${randomUUID()}) returning id`;
    await stack.sql`
      insert into series_contributors (contributor_id, series_id, role) values (${contributor.id}, ${series?.id}, 'art')
    `;

    const { before } = await change("admin-contributors/delete", { path: { id: contributor.id } });

    expect(before).toMatchObject({
      slug: contributor.slug,
      incoming_relations: [relation],
      series: [{ id: series?.id, role: "art" }],
    });
  });
});

describe("An edit that changes nothing", () => {
  const kinds: readonly (readonly [string, () => Promise<{ id: number; body: object; other: object }>])[] = [
    [
      "contributors",
      async () => {
        const { id } = await aFullContributor();
        const [description] = await elementsOf("contributor_descriptions", { id });
        const { language } = (description ?? {}) as { language?: string };
        const links = await linksOf({ id });
        const modified_descriptions = [{ id: description?.id, language }];
        const body = { ...(await namesOf({ id })), links: [...links, links[0]].slice(-50), modified_descriptions };
        return { id, body: { ...body, links }, other: { ...body, first_name: randomUUID() } };
      },
    ],
    [
      "users",
      async () => {
        const { id, username } = await aUser(stack.sql);
        const role = await aRole(stack.sql);
        await give(stack.sql, { id }, role);
        return { id, body: { username, added_roles: [role.id] }, other: { username: randomUUID() } };
      },
    ],
    [
      "roles",
      async () => {
        const { id, name } = await aRole(stack.sql, "view-users");
        const held = await permissionId(stack.sql, "view-users");
        return {
          id,
          body: { name, added_permissions: [held], removed_permissions: [1e15] },
          other: { name: "Another" },
        };
      },
    ],
    [
      "permissions",
      async () => {
        const { id, name } = await aPermission(stack.sql);
        await stack.sql`update permissions set description = 'd' where id = ${id}`;
        return { id, body: { name, description: "d" }, other: { name: "Another one", description: "d" } };
      },
    ],
  ];

  it.each(kinds)("of %s answers 200, is no new version, and is not done later", async (table, make) => {
    const { id, body, other } = await make();
    const headers = { "Idempotency-Key": randomUUID() };
    const version = await versionOf(table, { id });
    const edit = (values: object, more: object = {}) =>
      call(`admin-${table}/edit`, { path: { id }, body: values, ...more });

    expect((await edit(body, { headers })).status).toBe(200);
    expect(await versionOf(table, { id })).toBe(version);
    expect(await latest()).toMatchObject({ asked: null, before: null });

    expect((await edit(other)).status).toBe(200);
    const changed = await stack.sql`select * from ${identifier(table)} where id = ${id}`;
    expect((await edit(body, { headers })).status).toBe(200);
    expect(await stack.sql`select * from ${identifier(table)} where id = ${id}`).toEqual(changed);
  });
});
