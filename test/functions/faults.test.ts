import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { type FaultyProxy, startFaultyProxy } from "../support/faulty-proxy.ts";
import { aUser } from "../support/people.ts";
import { tinyImage } from "../support/pictures.ts";
import { aPermission, aRole, give } from "../support/records.ts";
import { numbers, seed } from "../support/seed.ts";
import type { Request } from "../support/stack.ts";
import { expectAgreement, useUploads } from "../support/uploads.ts";

const stack = useUploads();
const administrator = useAdministrator(stack);
let proxies: readonly FaultyProxy[];

beforeAll(async () => {
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

/** A request, and what counts each part of what it does, by a number that is 1 once it is done. */
type Case = readonly [request: Request, ...parts: string[]];

const mark = () => `Mark ${randomUUID()}`;
const count = (rows: string) => `(select count(*) from ${rows})`;
const deletion = (table: string, { id }: { id: number }): Case => [
  { path: { id } },
  `(select 1 - count(*) from ${table} where id = ${id})`,
];

const cases: Readonly<Record<string, () => Promise<Case>>> = {
  "contributors/list": async () => [{ query: { client: 1, limit: 20 } }],
  "admin-users/list": async () => [{ query: { limit: 20 } }],
  "admin-contributors/add": async () => {
    const first_name = mark();
    return [{ body: { first_name } }, count(`contributors where first_name = '${first_name}'`)];
  },
  "admin-contributors/edit": async () => {
    const { id } = await aContributor(stack.sql);
    const name = mark();
    const body = {
      first_name: name,
      links: ["https://example.com/one"],
      added_aliases: [`Alias of ${name}`],
      added_descriptions: [{ description: name, language: "English" }],
    };
    return [
      { path: { id }, body },
      count(`contributors where id = ${id} and first_name = '${name}'`),
      count(`contributor_links where contributor_id = ${id} and url like '%/one'`),
      count(`contributor_aliases where contributor_id = ${id} and name = 'Alias of ${name}'`),
      count(`contributor_descriptions where contributor_id = ${id} and description = '${name}'`),
    ];
  },
  "admin-contributors/delete": async () => deletion("contributors", await aContributor(stack.sql)),
  "admin-contributors/update-avatar": async () => {
    const { id } = await aContributor(stack.sql);
    return [{ path: { id }, body: { image: tinyImage } }, count(`contributors where id = ${id} and image > ''`)];
  },
  "admin-users/edit": async () => {
    const [{ id }, before, after] = [await aUser(stack.sql), await aRole(stack.sql), await aRole(stack.sql)];
    await give(stack.sql, { id }, before);
    const body = { username: mark(), added_roles: [after.id], removed_roles: [before.id] };
    return [
      { path: { id }, body },
      count(`users where id = ${id} and username = '${body.username}'`),
      count(`user_roles where user_id = ${id}`),
      count(`user_roles where user_id = ${id} and role_id = ${after.id}`),
    ];
  },
  "admin-users/logout": async () => {
    const { id } = await aUser(stack.sql);
    return [{ path: { id } }, count(`refresh_tokens where user_id = ${id} and revoked_at is not null`)];
  },
  "admin-roles/edit": async () => {
    const [{ id }, permission] = [await aRole(stack.sql), await aPermission(stack.sql)];
    const body = { name: mark(), added_permissions: [permission.id] };
    const parts = [`roles where name = '${body.name}'`, `role_permissions where role_id = ${id}`];
    return [{ path: { id }, body }, ...parts.map(count)];
  },
  "admin-roles/delete": async () => deletion("roles", await aRole(stack.sql)),
  "admin-permissions/add": async () => {
    const name = mark();
    return [{ body: { name, description: "New" } }, count(`permissions where name = '${name}'`)];
  },
  "admin-permissions/edit": async () => {
    const { id } = await aPermission(stack.sql);
    const body = { name: mark(), description: "After" };
    return [{ path: { id }, body }, count(`permissions where id = ${id} and name = '${body.name}'`)];
  },
};
const requestsOfACase = 8;

describe("While three in ten calls to database and S3 fail", () => {
  it.each(Object.entries(cases))("%s succeeds, and is done once", async (name, prepare) => {
    const plan = await Promise.all(Array.from({ length: requestsOfACase }, prepare));

    const send = ([request]: Case) => stack.call(name, { as: administrator.token, ...request });
    const replies = await Promise.all(plan.map(send));

    expect(replies.map(({ status }) => status)).toEqual(plan.map(() => 200));
    const parts = plan.flatMap(([, ...parts]) => parts);
    const [row] = await stack.sql.query(`select array[${parts}]::int[] as done`);
    expect(row?.done).toEqual(parts.map(() => 1));
    const recorded = await stack.sql`select transaction from changes where endpoint = ${name}`;
    expect(recorded).toHaveLength(parts.length > 0 ? requestsOfACase : 0);
  });

  it("every image that a record has is there, and no other", async () => {
    await expectAgreement(stack);
    for (const { counts } of proxies) expect(counts.faults).toBeGreaterThan(0);
  });
});
