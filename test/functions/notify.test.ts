import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { endpointPath } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { type CloudFront, startCloudFront } from "../support/cloudfront.ts";
import { invoke } from "../support/invoke.ts";
import { aUser, holderOf } from "../support/people.ts";
import { requestFor } from "../support/requests.ts";
import { broken } from "../support/unchanged.ts";
import { latestChange, undo } from "../support/undo.ts";
import { useUploads } from "../support/uploads.ts";

let cloudFront: CloudFront;
/** What Lambda's Invoke API was asked for, and how it responds; undefined for the real one. */
let invocations: string[];
let result: ((response: ServerResponse) => unknown) | undefined;
/** Where functions look for Lambda. */
let lambdaUrl: string;
let warnings: Record<string, unknown>[];

const accept = (response: ServerResponse) => response.writeHead(202).end();

const stack = useUploads({
  pages: [
    async (request, response) => {
      if (!result || request.method !== "POST" || !request.url?.startsWith("/2015-03-31/")) return false;
      const type = request.headers["x-amz-invocation-type"];
      invocations.push(`${request.url} ${type} ${await text(request)}`);
      result(response);
      return true;
    },
  ],
  variables: () => ({
    INVALIDATE_FUNCTION: "ops-invalidate",
    AWS_ENDPOINT_URL_LAMBDA: lambdaUrl,
    API_DISTRIBUTION: "E2QWRUHAPOMQZL",
    AWS_ENDPOINT_URL_CLOUDFRONT: cloudFront.url,
  }),
});
const administrator = useAdministrator(stack);

beforeAll(async () => {
  cloudFront = await startCloudFront();
  return () => cloudFront.close();
});

beforeEach(() => {
  lambdaUrl = stack.url;
  invocations = [];
  result = accept;
  warnings = [];
  vi.spyOn(console, "log").mockImplementation((line) => {
    const fields = JSON.parse(String(line));
    if (fields.level === "warn") warnings.push(fields);
  });
});

afterEach(() => vi.restoreAllMocks());

const notification = "/2015-03-31/functions/ops-invalidate/invocations Event {}";

const add = (name: string, options: object = {}) =>
  administrator.call("admin-contributors/add", { body: { first_name: name }, ...options });
const edit = (id: number | string, as = administrator.token) =>
  stack.call("admin-contributors/edit", { as, path: { id }, body: { first_name: `Edited ${id}` } });

describe("A change of what the public reads", () => {
  it.each(endpoints.filter((each) => "changesPublic" in each))(
    "notifies ops-invalidate: $path",
    async (declaration) => {
      const request = await requestFor(stack.sql, declaration);

      const { status } = await administrator.call(endpointPath(declaration), request);

      expect(status).toBe(200);
      await expect.poll(() => invocations).toEqual([notification]);
    },
  );

  it("notifies with no call of the Data API, and again when it is replayed", async () => {
    const headers = { "Idempotency-Key": "notified" };

    expect([await add("Replayed", { headers }), await add("Replayed", { headers })]).toMatchObject(
      Array(2).fill({ status: 200 }),
    );

    await expect.poll(() => invocations).toEqual([notification, notification]);
    expect(stack.dataApi.calls).toHaveLength(2);
  });

  it("notifies nothing when it is refused", async () => {
    const { id } = await aContributor(stack.sql);
    const viewer = await holderOf(stack.sql, "view-contributors");

    const refused = [await edit(id, viewer.token), await edit(999_999_999), await edit("none"), await add("")];

    expect(refused.map(({ status }) => status)).toEqual([403, 404, 400, 400]);
    expect(invocations).toEqual([]);
  });

  it("makes ops-invalidate invalidate, by the real Invoke API", async () => {
    result = undefined;
    const { id } = await aContributor(stack.sql, { public: true });
    await stack.sql`delete from stale_tags`;

    await edit(id);

    const items = () => cloudFront.requests.map((request) => request.items);
    await expect.poll(items).toEqual([[`#contributor-${id}`, "#contributors"]]);
  });
});

describe("A change by an operator", () => {
  const run = <Result>(name: string, payload: object) => invoke<Result>(stack, `ops-${name}`, payload);
  const lines = (count: number) =>
    Array.from({ length: count }, () => {
      const id = randomUUID();
      return `${JSON.stringify({ kind: "contributor", externalId: id, first_name: id })}\n`;
    }).join("");

  it("notifies ops-invalidate once: a merge, an undo, an import of several batches", async () => {
    const [keep, merged] = [await aContributor(stack.sql), await aContributor(stack.sql)];

    const { change } = await run<{ change: number }>("merge-contributors", { keep: keep.id, merge: [merged.id] });
    await expect.poll(() => invocations).toEqual([notification]);
    expect(await undo(stack, { change })).toMatchObject({ undone: [{ change }] });
    await expect.poll(() => invocations).toEqual([notification, notification]);
    expect(await run("import", { source: lines(501) })).toMatchObject({ added: 501 });
    await expect.poll(() => invocations).toEqual([notification, notification, notification]);
  });

  it("notifies it, too, when the function fails behind it", async () => {
    let calls = 0;
    stack.dataApi.intercept(({ sql }) => (sql?.includes("import_records") && calls++ === 1 ? broken : undefined));

    await expect(run("import", { source: lines(501) })).rejects.toThrow();

    await expect.poll(() => invocations).toEqual([notification]);
  });

  it("notifies nothing in a dry run, when it is refused, or changes nothing", async () => {
    const [keep, merged] = [await aContributor(stack.sql), await aContributor(stack.sql)];
    const merging = { keep: keep.id, merge: [merged.id] };
    const { id } = await aContributor(stack.sql, { gender: "a" });
    const source = lines(1);
    await run("import", { source });
    await edit(id);
    const change = await latestChange(stack.sql);
    await expect.poll(() => invocations).toEqual([notification, notification]);

    await run("merge-contributors", { ...merging, dryRun: true });
    await run("import", { source: lines(1), dryRun: true });
    await undo(stack, { change, dryRun: true });
    await expect(run("merge-contributors", { ...merging, merge: [999_999_999] })).rejects.toThrow("not exist");
    await stack.sql`update contributors set first_name = 'Conflicting' where id = ${id}`;
    expect(await undo(stack, { change })).toMatchObject({ undone: [], refused: [{ change }] });
    await administrator.call("admin-users/logout", { path: { id: (await aUser(stack.sql)).id } });
    const logout = await latestChange(stack.sql);
    expect(await undo(stack, { change: logout })).toMatchObject({ refused: [{ change: logout }] });
    expect(await run("import", { source })).toMatchObject({ added: 0, unchanged: 1 });

    expect(invocations).toEqual([notification, notification]);
  });
});

it.each([
  {
    why: "Lambda refuses it",
    respond: (response: ServerResponse) => response.writeHead(403).end("{}"),
    message: "lambda returned 403: {}",
  },
  {
    why: "the connection breaks",
    respond: (response: ServerResponse) => response.destroy(),
    message: "socket hang up",
  },
  // It is answered although Lambda never does.
  { why: "there is no response in time", respond: () => {}, message: "No response within 50 ms" },
  { why: "Lambda is not there", respond: undefined, message: expect.stringContaining("ECONNREFUSED") },
])("A change whose notification fails is answered 200, and warns, because $why", async ({ respond, message }) => {
  if (respond) result = respond;
  else lambdaUrl = "http://127.0.0.1:1";
  await stack.lambda.renew();

  // A machine that stands still for a while knows the reason too late, so more than one change may be needed.
  await expect
    .poll(async () => {
      expect(await add(`Warning ${randomUUID()}`)).toMatchObject({ status: 200 });
      return warnings.map(({ notification }) => notification);
    })
    .toContainEqual(expect.objectContaining({ message }));
});
