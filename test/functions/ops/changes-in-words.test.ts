import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { endpointPath } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { payloads } from "../../../lib/operators/payloads.ts";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor, aPublisher, aSeries } from "../../support/catalogue.ts";
import { aUser } from "../../support/people.ts";
import { tinyImage as image } from "../../support/pictures.ts";
import { aPermission, aRole, give, permissionId } from "../../support/records.ts";
import type { Request } from "../../support/stack.ts";
import { useUploads } from "../../support/uploads.ts";

const stack = useUploads({ signIn: [] });
const administrator = useAdministrator(stack);

interface Told {
  readonly id: number;
  readonly by: string | null;
  readonly record: string | null;
  readonly name: string | null;
  readonly what: readonly string[];
}

async function list(payload: object): Promise<Told[]> {
  const invocation = await stack.lambda.invoke("ops-list-changes", payload);
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  return (invocation.result as { changes: Told[] }).changes;
}

const newest = async (payload: object = {}): Promise<Told | undefined> => (await list({ ...payload, limit: 1 }))[0];

/** The newest change, after a request of the administrator that is answered 200. */
async function told(name: string, request: Omit<Request, "as">): Promise<Told | undefined> {
  const { status } = await stack.call(name, { as: administrator.token, ...request });
  expect(status).toBe(200);
  return await newest();
}

const whatOf = async (name: string, request: Omit<Request, "as">) => (await told(name, request))?.what;

/** The newest change, after an operator's function has been invoked. */
async function operated(name: string, payload: object): Promise<Told | undefined> {
  expect(await stack.lambda.invoke(name.replace("/", "-"), payload)).toHaveProperty("result");
  return await newest();
}

const edit = (id: number, body: object) => whatOf("admin-contributors/edit", { path: { id }, body });

const roleId = async (key: string) => (await stack.sql`select id from roles where key = ${key}`)[0]?.id;

/** A change of every endpoint and operators' function that changes something, and how it is told. */
const tales: Readonly<Record<string, () => Promise<void>>> = {
  async "admin-users/edit"() {
    const user = await aUser(stack.sql);
    const [first, second] = [await aRole(stack.sql), await aRole(stack.sql)];
    await give(stack.sql, user, first);

    const body = { username: "Ada L.", age_verified: true, added_roles: [second.id], removed_roles: [first.id] };

    expect(await told("admin-users/edit", { path: { id: user.id }, body })).toMatchObject({
      by: administrator.username,
      record: `user ${user.id}`,
      name: "Ada L.",
      what: [
        `username: "${user.username}" → "Ada L."`,
        "age_verified: no → yes",
        `role given: ${second.name} (${second.id})`,
        `role taken: ${first.name} (${first.id})`,
      ],
    });
  },
  async "admin-users/update-image"() {
    const path = { id: (await aUser(stack.sql)).id };
    expect(await whatOf("admin-users/update-image", { path, body: { image } })).toEqual(["image added"]);
    expect(await whatOf("admin-users/update-image", { path, body: { image } })).toEqual([
      expect.stringMatching(/^image replaced, was \S+\.webp$/),
    ]);
  },
  async "admin-users/delete-image"() {
    const path = { id: (await aUser(stack.sql)).id };
    await told("admin-users/update-image", { path, body: { image } });
    expect(await whatOf("admin-users/delete-image", { path })).toEqual([
      expect.stringMatching(/^image removed, was \S+\.webp$/),
    ]);
  },
  async "admin-users/logout"() {
    const { id, username } = await aUser(stack.sql);
    expect(await told("admin-users/logout", { path: { id } })).toMatchObject({ name: username, what: ["logged out"] });
  },
  async "admin-users/delete"() {
    const { id } = await aUser(stack.sql);
    expect(await told("admin-users/delete", { path: { id } })).toMatchObject({
      record: `user ${id}`,
      name: null,
      what: ["deleted; the ledger keeps only the ids of deleted users"],
    });
  },
  async "admin-roles/add"() {
    expect(await told("admin-roles/add", { body: { name: "Scribe", description: "d" } })).toMatchObject({
      record: expect.stringMatching(/^role \d+$/),
      what: ["added: Scribe"],
    });
  },
  async "admin-roles/edit"() {
    const role = await aRole(stack.sql, "view-users");
    const [taken, given] = [await permissionId(stack.sql, "view-users"), await permissionId(stack.sql, "edit-users")];
    const body = { name: "Clerk", description: "", added_permissions: [given], removed_permissions: [taken] };
    expect(await whatOf("admin-roles/edit", { path: { id: role.id }, body })).toEqual([
      `name: "${role.name}" → "Clerk"`,
      'description: "Made for a test" → ""',
      `permission given: edit-users (${given})`,
      `permission taken: view-users (${taken})`,
    ]);
  },
  async "admin-roles/delete"() {
    const role = await aRole(stack.sql, "view-users", "edit-users");
    await give(stack.sql, await aUser(stack.sql), role);
    expect(await told("admin-roles/delete", { path: { id: role.id } })).toMatchObject({
      record: `role ${role.id}`,
      name: role.name,
      what: ["deleted, with 2 permissions; taken from 1 user, of whom 1 got the default role"],
    });
  },
  async "admin-permissions/add"() {
    const body = { name: "read-mail", description: "d" };
    expect(await whatOf("admin-permissions/add", { body })).toEqual(["added: read-mail"]);
  },
  async "admin-permissions/edit"() {
    const { id, name } = await aPermission(stack.sql);
    const body = { name: "read-post", description: "Reads the post" };
    expect(await whatOf("admin-permissions/edit", { path: { id }, body })).toEqual([
      `name: "${name}" → "read-post"`,
      'description: "" → "Reads the post"',
    ]);
  },
  async "admin-permissions/delete"() {
    const { id, name } = await aPermission(stack.sql);
    const role = await aRole(stack.sql);
    await stack.sql`insert into role_permissions (role_id, permission_id) values (${role.id}, ${id})`;
    expect(await told("admin-permissions/delete", { path: { id } })).toMatchObject({
      name,
      what: ["deleted; taken from 1 role"],
    });
  },
  async "admin-contributors/add"() {
    const body = { first_name: "Osamu", last_name: "Tezuka" };
    expect(await told("admin-contributors/add", { body })).toMatchObject({
      name: "Osamu Tezuka",
      what: ["added: Osamu Tezuka"],
    });
  },
  async "admin-contributors/edit"() {
    const other = await aContributor(stack.sql, { first_name: "Riyoko", last_name: "Ikeda" });
    const { id } = await aContributor(stack.sql, { first_name: "Osam", last_name: null, public: false });
    const links = ["https://a.example", "https://b.example"];
    expect(
      await edit(id, {
        first_name: "Osamu",
        last_name: "Dazai",
        gender: "male",
        public: true,
        links,
        added_aliases: ["God of Manga", { name: "Manga no Kamisama" }],
        added_descriptions: [{ language: "de", description: "Er zeichnete." }],
        added_relations: [{ relation_id: other.id, relation_type: "friend" }],
      }),
    ).toEqual([
      'first_name: "Osam" → "Osamu"',
      'last_name: none → "Dazai"',
      'gender: none → "male"',
      "public: no → yes",
      'alias added: "God of Manga"',
      'alias added: "Manga no Kamisama"',
      'description added (German): "Er zeichnete."',
      "link added: https://a.example",
      "link added: https://b.example",
      `relation added: contributor ${other.id} (Riyoko Ikeda), "friend"`,
    ]);
  },
  async "admin-contributors/update-avatar"() {
    const { id } = await aContributor(stack.sql);
    expect(await whatOf("admin-contributors/update-avatar", { path: { id }, body: { image } })).toEqual([
      "image added",
    ]);
  },
  async "admin-contributors/delete-avatar"() {
    const path = { id: (await aContributor(stack.sql)).id };
    await told("admin-contributors/update-avatar", { path, body: { image } });
    expect(await whatOf("admin-contributors/delete-avatar", { path })).toEqual([
      expect.stringMatching(/^image removed, was \S+\.webp$/),
    ]);
  },
  async "admin-contributors/delete"() {
    const contributor = await aContributor(stack.sql, { first_name: "Fujiko", last_name: "F. Fujio" });
    const { id } = contributor;
    await aSeries(stack.sql, { by: contributor });
    await stack.sql`insert into contributor_aliases (contributor_id, name) values (${id}, 'A'), (${id}, 'B')`;
    await stack.sql`
      insert into contributor_links (contributor_id, position, url) values (${id}, 0, 'https://a.example')
    `;
    expect(await told("admin-contributors/delete", { path: { id } })).toMatchObject({
      record: `contributor ${id}`,
      name: "Fujiko F. Fujio",
      what: ["deleted, with 1 link, 2 aliases; taken from 1 series"],
    });
  },
  async "ops/create-user"() {
    expect(await operated("ops/create-user", { username: "Grace", roles: ["Administrator"], by: "ada" })).toMatchObject(
      {
        by: "ada",
        record: expect.stringMatching(/^user \d+$/),
        name: "Grace",
        what: ["added: Grace", "roles given: Administrator"],
      },
    );
    expect((await operated("ops/create-user", { username: "Heidi" }))?.what).toEqual([
      "added: Heidi",
      "role given: the default role",
    ]);
    const identity = { issuer: "https://accounts.example.com", subject: "456" };
    expect((await operated("ops/create-user", { username: "Ida", identity }))?.what).toEqual([
      "added: Ida",
      "role given: the default role",
      'link given: the subject "456", of https://accounts.example.com',
    ]);
  },
  async "sign-out"() {
    const { id, token, username } = await aUser(stack.sql);
    expect((await stack.call("sign-out", { as: token })).status).toBe(200);
    expect(await newest()).toMatchObject({ by: username, record: `user ${id}`, what: ["signed out"] });
  },
  async "ops/link-identity"() {
    const { username } = await aUser(stack.sql);
    const link = { username, issuer: "https://accounts.example.com", by: "ada", reason: "Asked for it" };
    expect(await operated("ops/link-identity", { ...link, subject: "123" })).toMatchObject({
      by: "ada",
      reason: "Asked for it",
      name: username,
      what: ['link given: the subject "123", of https://accounts.example.com'],
    });
    expect((await operated("ops/link-identity", { ...link, subject: "123", remove: true }))?.what).toEqual([
      'link taken: the subject "123", of https://accounts.example.com',
    ]);
    expect((await operated("ops/link-identity", { ...link, email: "ida@example.com" }))?.what).toEqual([
      "link given: an e-mail address that is awaited, of https://accounts.example.com",
    ]);
  },
  async "ops/end-sessions"() {
    const { id, username } = await aUser(stack.sql);
    expect(await operated("ops/end-sessions", { user: id, by: "ada", reason: "A stolen token" })).toMatchObject({
      by: "ada",
      reason: "A stolen token",
      record: `user ${id}`,
      name: username,
      what: ["all sessions ended"],
    });
  },
  async "ops/issue-refresh-token"() {
    const { username } = await aUser(stack.sql);
    expect(await operated("ops/issue-refresh-token", { username, days: 30 })).toMatchObject({
      by: null,
      name: username,
      what: ["session opened for 30 days"],
    });
  },
  async "ops/import"() {
    const publisher = await aPublisher(stack.sql, { name: "Kodansha", slug: "kodansha-of-old" });
    const source =
      '{"kind":"publisher","externalId":"slug:kodansha-of-old","country":"Japan"}\n' +
      '{"kind":"contributor","externalId":"naoki","first_name":"Naoki"}\n';

    expect(await operated("ops/import", { source, reason: "A file", by: "ada" })).toMatchObject({
      by: "ada",
      reason: "A file",
      record: "2 records",
      what: [
        `publisher ${publisher.id} (Kodansha): country: none → "Japan"`,
        expect.stringMatching(/^contributor \d+ \(Naoki\): added/),
      ],
    });
  },
  async "ops/merge-contributors"() {
    const kept = await aContributor(stack.sql, { first_name: "Fujiko", last_name: "Fujio" });
    const one = await aContributor(stack.sql, { first_name: "Fujiko F.", last_name: "Fujio", slug: "fujiko-f-fujio" });
    const friend = await aContributor(stack.sql, { first_name: "Abiko" });
    await stack.sql`
      insert into contributor_relations (contributor_id, relation_id, relation_type)
      values (${friend.id}, ${one.id}, 'friend')
    `;
    const series = await aSeries(stack.sql, { by: one }, { name: "Doraemon" });
    expect(await operated("ops/merge-contributors", { keep: kept.id, merge: [one.id], by: "ada" })).toMatchObject({
      by: "ada",
      record: "3 records",
      what: [
        expect.stringMatching(
          `^contributor ${friend.id} \\(Abiko\\): relation \\d+: contributor ${one.id} → contributor ${kept.id} `,
        ),
        `contributor ${one.id} (Fujiko F. Fujio): deleted; taken from 1 series`,
        `contributor ${kept.id} (Fujiko Fujio): alias added: "Fujiko F. Fujio"`,
        `contributor ${kept.id} (Fujiko Fujio): series added: Doraemon (${series.id})`,
        `contributor ${kept.id} (Fujiko Fujio): former slug added: "fujiko-f-fujio"`,
      ],
    });
  },
  async "ops/migrate"() {
    await stack.sql`delete from permissions where key = 'view-roles'`;
    expect(await operated("ops/migrate", {})).toMatchObject({
      record: null,
      what: ["permissions of this service restored: 1; the Administrator role has all of them"],
    });
  },
  async "ops/remove-images"() {
    await stack.sql`insert into images_to_remove (key) values (${`${randomUUID()}.webp`})`;
    expect((await operated("ops/remove-images", {}))?.what).toEqual([
      expect.stringMatching(/^images deleted that no record has: [1-9]\d*$/),
    ]);
  },
  async "ops/tidy"() {
    await stack.sql`
      insert into changes (key, request_id, endpoint, at) values ('k', '', 'made/up', now() - interval '500 days')
    `;
    expect((await operated("ops/tidy", { days: 400 }))?.what).toEqual([
      expect.stringMatching(/^deleted what was too old: 1 changes, \d+ sessions, \d+ tags, 0 releases$/),
    ]);
  },
  async "ops/undo"() {
    const { id } = await aContributor(stack.sql, { first_name: "Gosho", public: true });
    await edit(id, { first_name: "Goshu", public: true, added_aliases: ["Gosho"] });
    const change = (await newest())?.id;
    expect(await operated("ops/undo", { change, by: "ada" })).toMatchObject({
      by: "ada",
      record: `contributor ${id}`,
      name: "Gosho",
      what: ['first_name: "Goshu" → "Gosho"', 'alias removed: "Gosho"'],
      undoes: [change],
    });
    expect(await list({ id: change })).toMatchObject([{ undoneBy: (await newest())?.id }]);

    const role = await aRole(stack.sql, "view-users");
    await give(stack.sql, administrator, role);
    const deletion = await told("admin-roles/delete", { path: { id: role.id } });
    expect((await operated("ops/undo", { change: deletion?.id }))?.what).toEqual([
      `brought back: ${role.name}, with 1 permission; given to 1 user`,
    ]);
  },
};

const changeNothing = [
  "admin-contributors/lock",
  "admin-users/lock",
  "ops/check-copy",
  "ops/export",
  "ops/invalidate",
  "ops/invalidate-images",
  "ops/list-changes",
  "ops/rotate-password",
  "ops/smoke",
  "ops/verify-release",
];
/** It invokes ops/migrate's own change. */
const likeOthers = ["ops/migrate-on-deploy"];

describe("A change in words", () => {
  it("is tested for every endpoint and operators' function that changes something", () => {
    const changing = endpoints.filter(({ method }) => method !== "GET").map(endpointPath);

    expect([...Object.keys(tales), ...changeNothing, ...likeOthers].toSorted()).toEqual(
      [...changing, ...Object.keys(payloads)].toSorted(),
    );
  });

  it.each(Object.entries(tales))("of %s, which is found by its record", async (_, tale) => {
    await tale();

    const change = await newest();
    const [, kind, id] = /^(\w+) (\d+)$/.exec(change?.record ?? "") ?? [];
    if (kind !== undefined) expect(await list({ record: `${kind}/${id}`, limit: 1 })).toEqual([change]);
  });
});

describe("The words of an edit", () => {
  let id: number;
  const elements = (table: "aliases" | "descriptions" | "relations") =>
    ({
      aliases: stack.sql`select id from contributor_aliases where contributor_id = ${id} order by id`,
      descriptions: stack.sql`select id from contributor_descriptions where contributor_id = ${id} order by id`,
      relations: stack.sql`select id from contributor_relations where contributor_id = ${id} order by id`,
    })[table];
  const first_name = "Moto";
  const long = Array.from({ length: 500 }, (_, number) => `word${number}`).join(" ");

  beforeAll(async () => {
    ({ id } = await aContributor(stack.sql, { first_name, public: false }));
  });

  it("say which elements were modified and removed", async () => {
    const [one, other] = [
      await aContributor(stack.sql, { first_name: "One" }),
      await aContributor(stack.sql, { first_name: "Other" }),
    ];
    await edit(id, {
      first_name,
      added_aliases: ["Alias"],
      added_descriptions: ["Keep", "Drop"].map((description) => ({ description, language: "English" })),
      added_relations: ["friend", "rival"].map((relation_type) => ({ relation_id: one.id, relation_type })),
    });
    const [[alias], [kept, dropped], [first, second]] = [
      await elements("aliases"),
      await elements("descriptions"),
      await elements("relations"),
    ];

    expect(
      await edit(id, {
        first_name,
        removed_aliases: [alias?.id],
        removed_descriptions: [dropped?.id],
        modified_descriptions: [{ id: kept?.id, language: "German", source: "https://s.example" }],
        removed_relations: [first?.id],
        modified_relations: [{ id: second?.id, relation_id: other.id }],
      }),
    ).toEqual([
      'alias removed: "Alias"',
      'description removed (English): "Drop"',
      `description ${kept?.id}: language "English" → "German"`,
      `description ${kept?.id}: source "" → "https://s.example"`,
      `relation removed: contributor ${one.id} (One), "friend"`,
      `relation ${second?.id}: contributor ${one.id} (One) → contributor ${other.id} (Other)`,
    ]);
    const again = [{ id: kept?.id, language: "German", source: "https://t.example" }];
    expect(await edit(id, { first_name, modified_descriptions: again })).toEqual([
      `description ${kept?.id}: source "https://s.example" → "https://t.example"`,
    ]);
  });

  it("tell links that were removed, added, and moved", async () => {
    const [a, b, c] = ["https://a.example", "https://b.example", "https://c.example"];
    await edit(id, { first_name, links: [a, b] });

    expect(await edit(id, { first_name, links: [b, c] })).toEqual([`link removed: ${a}`, `link added: ${c}`]);
    expect(await edit(id, { first_name, links: [c, b] })).toEqual(["links: in another order"]);
    expect(await edit(id, { first_name, links: [] })).toEqual([`link removed: ${c}`, `link removed: ${b}`]);
  });

  it("shorten long texts in the middle, and show where they differ", async () => {
    expect(await edit(id, { first_name, added_descriptions: [{ language: "English", description: long }] })).toEqual([
      expect.stringMatching(
        /^description added \(English\): "word0 word1 .{40,60} … .{40,60} word499" \(3,889 characters\)$/,
      ),
    ]);
    const [description] = (await elements("descriptions")).slice(-1);
    const modified = [{ id: description?.id, description: long.replace("word250", "WORD250") }];
    expect(await edit(id, { first_name, modified_descriptions: modified })).toEqual([
      `description ${description?.id}: ` +
        '"…247 word248 word249 word250 word251 word252 …" → ' +
        '"…247 word248 word249 WORD250 word251 word252 …" (3,889 characters)',
    ]);
  });

  it("show only what differs of texts that fill more than a line", async () => {
    const [former, latest] = ["born in 1928", "born in Toyonaka in 1928"].map((born) => `${"a".repeat(50)} ${born}.`);
    await edit(id, { first_name, added_descriptions: [{ language: "English", description: former }] });
    const [description] = (await elements("descriptions")).slice(-1);

    expect(
      await edit(id, { first_name, modified_descriptions: [{ id: description?.id, description: latest }] }),
    ).toEqual([
      `description ${description?.id}: "…aaaaaaaaaaa born in 1928." → "…aaaaaaaaaaa born in Toyonaka in 1928." (64 → 76 characters)`,
    ]);
  });

  it("are few, unless the change is asked for by its id", async () => {
    await edit(id, { first_name, added_aliases: Array.from({ length: 60 }, (_, number) => `Alias ${number}`) });

    const short = await newest();
    expect(short?.what).toHaveLength(51);
    expect(short?.what.at(-1)).toBe("and 10 lines more");
    expect((await list({ id: short?.id }))[0]?.what).toHaveLength(60);
  });

  it("say that it changed nothing", async () => {
    expect(await edit(id, { first_name })).toEqual(["changed nothing"]);
    const role = await aRole(stack.sql);
    expect(await whatOf("admin-roles/edit", { path: { id: role.id }, body: { name: role.name } })).toEqual([
      "changed nothing",
    ]);
  });
});

describe("The words of a change without content", () => {
  it("say that it was emptied when the user was deleted, and who made it is not known any more", async () => {
    await stack.lambda.invoke("ops-create-user", { username: "Ivan", roles: ["Administrator"] });
    const issued = await stack.lambda.invoke("ops-issue-refresh-token", { username: "Ivan", days: 1 });
    const { refreshToken } = (issued as { result: { refreshToken: string } }).result;
    const [{ id } = { id: 0 }] = await stack.sql<{ id: number }[]>`select id from users where username = 'Ivan'`;
    const path = { id };
    await told("admin-users/edit", { path, body: { username: "Igor", added_roles: [await roleId("administrator")] } });
    await told("admin-users/update-image", { path, body: { image } });
    await told("admin-users/delete-image", { path });
    await told("admin-users/logout", { path });
    await stack.sql`update refresh_tokens set revoked_at = null where user_id = ${id}`;
    await stack.call("admin-roles/add", { as: refreshToken, body: { name: "Ivan's", description: "d" } });
    await told("admin-users/delete", { path });

    const emptied = "emptied since, when the user was deleted";
    expect((await list({ record: `user/${id}` })).map(({ what }) => what.join())).toEqual([
      "deleted; the ledger keeps only the ids of deleted users",
      "logged out",
      `image removed; ${emptied}`,
      `image set; ${emptied}`,
      `edited; ${emptied}`,
      "session opened",
      `added; ${emptied}`,
    ]);
    expect(await list({ user: id })).toMatchObject([{ by: null, userId: id, what: ["added: Ivan's"] }]);
  });

  it("say that the owner has emptied it", async () => {
    const { id } = await aContributor(stack.sql);
    await edit(id, { first_name: "Unlawful" });
    await told("admin-contributors/delete", { path: { id } });
    await stack.sql`
      update changes set asked = '{}', before = null, answer = null
      where record_id = ${id} and endpoint like 'admin-contributors/%'
    `;

    expect((await list({ record: `contributor/${id}` })).map(({ what }) => what)).toEqual([
      ["deleted; emptied since"],
      ["edited; emptied since"],
    ]);
  });
});
