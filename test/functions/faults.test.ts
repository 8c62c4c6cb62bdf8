import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { commonFaults } from "../../infra/aws-local/test/data-api.ts";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { aUser } from "../support/people.ts";
import { tinyImage } from "../support/pictures.ts";
import { aPermission, aRole, give } from "../support/records.ts";
import { numbers, seed } from "../support/seed.ts";
import type { Request } from "../support/stack.ts";
import { expectAgreement, useUploads } from "../support/uploads.ts";

const stack = useUploads();
const administrator = useAdministrator(stack);
const filesFaults = ["error-before", "error-after", "drop-before", "drop-after"] as const;
const injected = { database: 0, files: 0 };

beforeAll(() => {
  const random = numbers(seed);
  const chooseFrom = <Kind>(kinds: readonly Kind[], service: keyof typeof injected): Kind | undefined => {
    if (random() > 0.3) return undefined;
    injected[service] += 1;
    return kinds[Math.floor(random() * kinds.length)];
  };
  stack.dataApi.intercept(() => chooseFrom(commonFaults, "database"));
  stack.s3.intercept(() => chooseFrom(filesFaults, "files"));
});

/** A request, and the rows of which there is one once it is done. */
type Case = readonly [request: Request, rows?: string];

const mark = () => `Mark ${randomUUID()}`;
const deletion = (table: string, { id }: { id: number }): Case => [
  { path: { id } },
  `roles where is_default = 1 and not exists (select from ${table} where id = ${id})`,
];

const cases: Readonly<Record<string, () => Promise<Case>>> = {
  "contributors/list": async () => [{ query: { client: 1, limit: 20 } }],
  "admin-users/list": async () => [{ query: { limit: 20 } }],
  "admin-contributors/add": async () => {
    const first_name = mark();
    return [{ body: { first_name } }, `contributors where first_name = '${first_name}'`];
  },
  "admin-contributors/edit": async () => {
    const [{ id }, name] = [await aContributor(stack.sql), mark()];
    const body = { first_name: name, links: ["https://example.com/one"], added_aliases: [`Alias of ${name}`] };
    return [
      { path: { id }, body },
      `contributor_links join contributor_aliases using (contributor_id) join contributors on contributors.id = contributor_id
       where contributor_id = ${id} and url like '%/one' and name = 'Alias of ${name}' and first_name = '${name}'`,
    ];
  },
  "admin-contributors/delete": async () => deletion("contributors", await aContributor(stack.sql)),
  "admin-contributors/update-avatar": async () => {
    const { id } = await aContributor(stack.sql);
    return [{ path: { id }, body: { image: tinyImage } }, `contributors where id = ${id} and image > ''`];
  },
  "admin-users/edit": async () => {
    const [{ id }, before, after] = [await aUser(stack.sql), await aRole(stack.sql), await aRole(stack.sql)];
    await give(stack.sql, { id }, before);
    const body = { username: mark(), added_roles: [after.id], removed_roles: [before.id] };
    return [{ path: { id }, body }, `user_roles where user_id = ${id} and role_id in (${before.id}, ${after.id})`];
  },
  "admin-users/logout": async () => {
    const { id } = await aUser(stack.sql);
    return [{ path: { id } }, `refresh_tokens where user_id = ${id} and revoked_at is not null`];
  },
  "admin-roles/edit": async () => {
    const [{ id }, permission] = [await aRole(stack.sql), await aPermission(stack.sql)];
    const body = { name: mark(), added_permissions: [permission.id] };
    return [
      { path: { id }, body },
      `roles join role_permissions on role_id = id where id = ${id} and name = '${body.name}'`,
    ];
  },
  "admin-roles/delete": async () => deletion("roles", await aRole(stack.sql)),
  "admin-permissions/add": async () => {
    const name = mark();
    return [{ body: { name, description: "New" } }, `permissions where name = '${name}'`];
  },
};
const requestsOfACase = 8;

describe("While three in ten calls to database and S3 fail", () => {
  it.each(Object.entries(cases))("%s succeeds, and is done once", async (name, prepare) => {
    const plan = await Promise.all(Array.from({ length: requestsOfACase }, prepare));

    const send = ([request]: Case) => stack.call(name, { as: administrator.token, ...request });
    const replies = await Promise.all(plan.map(send));

    expect(replies.map(({ status }) => status)).toEqual(plan.map(() => 200));
    const changes = plan.flatMap(([, rows]) => rows ?? []);
    for (const rows of changes) expect(await stack.sql.query(`select from ${rows}`)).toHaveLength(1);
    expect(await stack.sql`select from changes where endpoint = ${name}`).toHaveLength(changes.length);
  });

  it("every image that a record has is there, and no other", async () => {
    await expectAgreement(stack);
    for (const count of Object.values(injected)) expect(count).toBeGreaterThan(0);
  });
});
