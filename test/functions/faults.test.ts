import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { type FaultyProxy, startFaultyProxy } from "../support/faulty-proxy.ts";
import { aUser } from "../support/people.ts";
import { dataUrl, plain } from "../support/pictures.ts";
import { aPermission, aRole, give } from "../support/records.ts";
import { numbers, seed } from "../support/seed.ts";
import type { Request } from "../support/stack.ts";
import { expectAgreement, useUploads } from "../support/uploads.ts";

const stack = useUploads();
const administrator = useAdministrator(stack);
let proxies: readonly FaultyProxy[];
let image: string;

beforeAll(async () => {
  image = dataUrl(await plain().png().toBuffer());
  const json = (type: string) => ({ "Content-Type": "application/json", "x-amzn-ErrorType": type });
  const xml = { "Content-Type": "application/xml" };
  const error = (code: string) => `<?xml version="1.0"?><Error><Code>${code}</Code><Message>Later</Message></Error>`;
  const random = { random: numbers(seed), rate: 0.3 };
  proxies = await Promise.all([
    startFaultyProxy({
      target: stack.dataApi.url,
      unavailable: { status: 503, headers: json("ServiceUnavailableError"), body: "{}" },
      throttled: { status: 400, headers: json("ThrottlingException"), body: '{"message":"Rate exceeded"}' },
      ...random,
    }),
    startFaultyProxy({
      target: stack.s3.url,
      unavailable: { status: 503, headers: xml, body: error("ServiceUnavailable") },
      throttled: { status: 503, headers: xml, body: error("SlowDown") },
      ...random,
    }),
  ]);
  const [database, files] = proxies;
  // No function has been loaded yet.
  Object.assign(process.env, { AWS_ENDPOINT_URL_RDS_DATA: database?.url, AWS_ENDPOINT_URL_S3: files?.url });
});

afterAll(() => Promise.all((proxies ?? []).map((proxy) => proxy.close())));

interface Case {
  readonly request: Request;
  /** A statement that counts each part of what the request does, by one row with numbers. */
  readonly parts?: string;
}

const mark = () => `Mark ${randomUUID()}`;
const count = (rows: string) => `(select count(*) from ${rows})`;
const absent = (table: string, { id }: { id: number }) => `(select 1 - count(*) from ${table} where id = ${id})`;
const byId = ({ id }: { id: number }): Request => ({ path: { id } });

async function aUserWithRoles() {
  const [user, before, after] = [await aUser(stack.sql), await aRole(stack.sql), await aRole(stack.sql)];
  await give(stack.sql, user, before);
  return { user, before, after };
}

const cases: Readonly<Record<string, () => Promise<Case>>> = {
  "contributors/list": async () => ({ request: { query: { client: 1, limit: 20 } } }),
  "admin-users/list": async () => ({ request: { query: { limit: 20 } } }),
  "admin-contributors/add": async () => {
    const name = mark();
    return { request: { body: { first_name: name } }, parts: count(`contributors where first_name = '${name}'`) };
  },
  "admin-contributors/edit": async () => {
    const { id } = await aContributor(stack.sql);
    const name = mark();
    const lists = {
      added_aliases: [`Alias of ${name}`],
      added_descriptions: [{ description: name, language: "English" }],
    };
    const body = { first_name: name, links: ["https://example.com/one"], ...lists };
    const of = `contributor_id = ${id} and`;
    return {
      request: { path: { id }, body },
      parts: [
        count(`contributors where id = ${id} and first_name = '${name}'`),
        count(`contributor_links where ${of} url like '%/one'`),
        count(`contributor_aliases where ${of} name = 'Alias of ${name}'`),
        count(`contributor_descriptions where ${of} description = '${name}'`),
      ].join(),
    };
  },
  "admin-contributors/delete": async () => {
    const contributor = await aContributor(stack.sql);
    return { request: byId(contributor), parts: absent("contributors", contributor) };
  },
  "admin-contributors/update-avatar": async () => {
    const { id } = await aContributor(stack.sql);
    return { request: { path: { id }, body: { image } }, parts: count(`contributors where id = ${id} and image > ''`) };
  },
  "admin-users/edit": async () => {
    const { user, before, after } = await aUserWithRoles();
    const body = { username: mark(), added_roles: [after.id], removed_roles: [before.id] };
    return {
      request: { path: { id: user.id }, body },
      parts: [
        count(`users where id = ${user.id} and username = '${body.username}'`),
        count(`user_roles where user_id = ${user.id}`),
        count(`user_roles where user_id = ${user.id} and role_id = ${after.id}`),
      ].join(),
    };
  },
  "admin-users/logout": async () => {
    const user = await aUser(stack.sql);
    return {
      request: byId(user),
      parts: count(`refresh_tokens where user_id = ${user.id} and revoked_at is not null`),
    };
  },
  "admin-roles/edit": async () => {
    const [{ id }, permission] = [await aRole(stack.sql), await aPermission(stack.sql)];
    const body = { name: mark(), added_permissions: [permission.id] };
    return {
      request: { path: { id }, body },
      parts: `${count(`roles where name = '${body.name}'`)}, ${count(`role_permissions where role_id = ${id}`)}`,
    };
  },
  "admin-roles/delete": async () => {
    const role = await aRole(stack.sql);
    return { request: byId(role), parts: absent("roles", role) };
  },
  "admin-permissions/add": async () => {
    const name = mark();
    return { request: { body: { name, description: "New" } }, parts: count(`permissions where name = '${name}'`) };
  },
  "admin-permissions/edit": async () => {
    const { id } = await aPermission(stack.sql);
    const body = { name: mark(), description: "After" };
    return { request: { path: { id }, body }, parts: count(`permissions where id = ${id} and name = '${body.name}'`) };
  },
};
const requestsOfACase = 8;

describe("While three in ten calls to database and S3 fail", () => {
  it.each(Object.entries(cases))("%s succeeds, and is done once", async (name, prepare) => {
    const plan = await Promise.all(Array.from({ length: requestsOfACase }, prepare));

    const replies = await Promise.all(
      plan.map(({ request }) => stack.call(name, { as: administrator.token, ...request })),
    );

    expect(replies.map(({ status }) => status)).toEqual(plan.map(() => 200));
    for (const { parts } of plan) {
      const [row = {}] = parts ? await stack.sql.query(`select array[${parts}]::int[] as parts`) : [{ parts: [] }];
      expect(row.parts).toEqual(row.parts.map(() => 1));
    }
    const recorded = await stack.sql`select transaction from changes where endpoint = ${name}`;
    expect(recorded).toHaveLength(plan.filter(({ parts }) => parts).length);
  });

  it("every image that a record has is there, and no other", async () => {
    await expectAgreement(stack);
    for (const { counts } of proxies) expect(counts.faults).toBeGreaterThan(0);
  });
});
