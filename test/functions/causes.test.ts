import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { reasons } from "../../lib/contract/faults.ts";
import { useAdministrator } from "../support/callers.ts";
import { aWholeContributor } from "../support/catalogue.ts";
import { faultsIn } from "../support/contract.ts";
import { envelope, invalidParameter, missingParameters } from "../support/envelope.ts";
import { aRole } from "../support/records.ts";
import { useStack } from "../support/stack.ts";

/* What responses say of the causes of errors, beside their bodies (lib/contract/README.md, "Beyond the interface"). */

const stack = useStack();
const administrator = useAdministrator(stack);

/** Sends a request whose parameters the endpoint may not know. */
async function send(method: string, path: string, init: { body?: string; headers?: Record<string, string> } = {}) {
  const headers = { Cookie: `refreshToken=${administrator.token}`, ...init.headers };
  const response = await fetch(stack.url + path, { ...init, method, headers });
  const body: { code?: number } = JSON.parse(await response.text());
  const faults = faultsIn(response.headers);
  return { body, faults, applied: response.headers.get("Preference-Applied"), header: response.headers };
}

const missing = { reason: "missing" };
const strict = { Prefer: "handling=strict" };

it.each([
  { path: "/contributors", faults: { client: missing } },
  { path: "/contributors?client=", faults: { client: missing } },
  { path: "/contributors?client=abc", faults: { client: { reason: "format" } } },
  { path: "/contributors?client=0", faults: { client: { reason: "range", min: 1 } } },
  { path: "/contributors?client=9007199254740993", faults: { client: { reason: "range" } } },
  { path: "/contributors?client=1&client=2", faults: { client: { reason: "twice" } } },
  {
    path: "/contributors?order=age&limit=-1&include=slug,name",
    faults: {
      client: missing,
      order: {
        reason: "unknown",
        allowed:
          "name-asc name-desc sort-name-asc sort-name-desc id-asc id-desc changed-asc changed-desc added-asc added-desc",
      },
      limit: { reason: "format" },
      include: { reason: "unknown", allowed: "slug disambiguation sort_name added changed", at: "/1" },
    },
  },
  { path: `/contributors?client=1&search=${"x".repeat(256)}`, faults: { search: { reason: "long", max: 255 } } },
  { path: "/contributor/works/x?client=1", faults: { id: { reason: "format" } } },
  { path: "/contributor/slug", faults: { slug: missing } },
])("GET $path names all parameters that are wrong, with their reasons", async ({ path, faults }) => {
  expect((await send("GET", path)).faults).toEqual(faults);
});

describe("POST /admin-roles/add returns 400", () => {
  it.each([
    { what: "no body", body: "", cause: missing },
    { what: "an array", body: "[]", cause: { reason: "type", expected: "object" } },
    { what: "null", body: "null", cause: { reason: "type", expected: "object" } },
  ])("and the expected type to $what", async ({ body, cause }) => {
    const response = await send("POST", "/admin-roles/add", { body });

    expect([response.body, response.faults]).toEqual([missingParameters, { body: cause }]);
  });

  it.each([
    { what: "a comment at the end of a line", body: '{"name": "n", // name\n}', position: 14 },
    { what: "a comment within a line", body: '{"name": /* */ "n"}', position: 9 },
    { what: "apostrophes for quotation marks", body: "{'name': 'n'}", position: 1 },
    { what: "a comma at the end", body: '{"name": "n", }', position: 14 },
    { what: "an object without end", body: '{"name": "n"', position: 12 },
    { what: "an array without end", body: '{"name": [1, 2}', position: 14 },
    { what: "a second object", body: '{"name": "n"} {', position: 14 },
    { what: "a form", body: "name=n&description=d", position: 0 },
    { what: "a line break in a text", body: '{"name": "a\nb"}', position: 9 },
  ])("and the position where $what ends to be JSON", async ({ body, position }) => {
    const response = await send("POST", "/admin-roles/add", { body });

    expect([response.body, response.faults]).toEqual([missingParameters, { body: { reason: "json", position } }]);
  });
});

it("A text of a megabyte that does not end is 400, too", async () => {
  for (const text of ["x".repeat(1_048_560), "\\u0061".repeat(174_760)]) {
    const { faults } = await send("POST", "/admin-roles/add", { body: `{"name": "${text}` });
    expect(faults).toEqual({ body: { reason: "json", position: 9 } });
  }
});

it("Path, query, body and headers of one request are named together, and the message is about the first of them", async () => {
  const body = '{"last_name": 5, "gender": "x"}';
  const headers = { "Idempotency-Key": "two words" };
  const { faults, ...response } = await send("POST", "/admin-contributors/add?client=x", { body, headers });

  expect(response.body).toEqual(invalidParameter("client"));
  expect(faults).toEqual({
    client: { reason: "format" },
    first_name: missing,
    last_name: { reason: "type", expected: "string" },
    "Idempotency-Key": { reason: "format" },
  });
});

it("What is wrong within a parameter is named by its position", async () => {
  const { id, relation } = await aWholeContributor(stack.sql);
  const body = JSON.stringify({
    first_name: "x",
    public: "yes",
    links: ["https://example.com", "ftp://example.com"],
    added_aliases: ["a", { name: 7 }],
    removed_aliases: ["x"],
    added_descriptions: [{ description: "d\u0007", language: "a" }],
    added_relations: [{ relation_id: 0, relation_type: "x" }, { relation_type: "x" }],
    modified_relations: [{ id: relation, relation_type: "" }],
  });

  expect((await send("POST", `/admin-contributors/edit/${id}`, { body })).faults).toEqual({
    public: { reason: "type", expected: "boolean" },
    links: { reason: "invalid", at: "/1" },
    added_aliases: { reason: "type", expected: "string", at: "/1/name" },
    removed_aliases: { reason: "format", at: "/0" },
    added_descriptions: { reason: "invalid", at: "/0/description" },
    added_relations: { reason: "range", min: 1, at: "/0/relation_id" },
    modified_relations: { reason: "missing", at: "/0/relation_type" },
  });
});

it.each([
  { name: "a\u200bb", character: "U+200B" },
  { name: "\u200e手\u200e塚", character: "U+200E" },
  { name: "a\nb", character: "U+000A" },
  { name: "Zoë \u{e0061}", character: "U+E0061" },
])("The invisible character $character within a name is named", async ({ name, character }) => {
  const { id } = await aWholeContributor(stack.sql);
  const body = JSON.stringify({ first_name: name, added_aliases: ["a", { name }] });

  expect((await send("POST", `/admin-contributors/edit/${id}`, { body })).faults).toEqual({
    first_name: { reason: "invisible-character", character },
    added_aliases: { reason: "invisible-character", character, at: "/1/name" },
  });
});

it("What only the database knows to be wrong has its reason, too", async () => {
  const { id } = await aWholeContributor(stack.sql);
  const { id: roleId } = await aRole(stack.sql);
  const aliases = Array.from({ length: 200 }, (_, number) => `Alias ${number}`);
  const key = { "Idempotency-Key": crypto.randomUUID() };
  const reasonOf = async (path: string, body: object, headers = {}) =>
    (await send("POST", path, { body: JSON.stringify(body), headers })).faults;

  expect(await reasonOf(`/admin-contributors/edit/${id}`, { first_name: "x", removed_relations: [0] })).toMatchObject({
    removed_relations: { reason: "range" },
  });
  expect(
    await reasonOf(`/admin-contributors/edit/${id}`, { first_name: "x", modified_relations: [{ id: 1e9 }] }),
  ).toEqual({ modified_relations: { reason: "unknown" } });
  expect(await reasonOf(`/admin-contributors/edit/${id}`, { first_name: "x", added_aliases: aliases })).toEqual({
    added_aliases: { reason: "long" },
  });
  expect(await reasonOf("/admin-contributors/add?client=99", { first_name: "Nobody's" })).toEqual({
    client: { reason: "unknown" },
  });
  expect(await reasonOf(`/admin-roles/edit/${roleId}`, { name: "A role", added_permissions: [1e9] })).toEqual({
    added_permissions: { reason: "unknown" },
  });
  expect(await reasonOf(`/admin-roles/edit/${roleId}`, { name: "A role" }, key)).toBeUndefined();
  expect(await reasonOf(`/admin-roles/edit/${roleId}`, { name: "Another role" }, key)).toEqual({
    "Idempotency-Key": { reason: "reused" },
  });
});

it("A request that prefers strict handling is 400 for each name that the endpoint does not declare", async () => {
  const { id } = await aWholeContributor(stack.sql);
  const edit = (body: object, headers = {}) =>
    send("POST", `/admin-contributors/edit/${id}`, { body: JSON.stringify(body), headers: { ...headers, ...strict } });
  const patch = { "Content-Type": "application/merge-patch+json" };

  const search = await send("GET", "/contributors?client=1&serach=tezuka&page=2&page=3", { headers: strict });
  expect(search).toMatchObject({ body: invalidParameter("serach"), applied: "handling=strict" });
  expect(search.faults).toEqual({ serach: { reason: "undeclared" }, page: { reason: "undeclared" } });
  expect(await send("GET", "/admin-roles?serach=", { headers: strict })).toMatchObject({
    body: invalidParameter("serach"),
  });
  expect(await edit({ firstname: "x" }, patch)).toMatchObject({ body: invalidParameter("firstname") });
  const whole = await edit({ firstname: "x" });
  expect([whole.body, whole.faults]).toEqual([
    missingParameters,
    { first_name: missing, firstname: { reason: "undeclared" } },
  ]);
  expect(await edit({ type: "author" }, patch)).toMatchObject({
    body: envelope(200, "Contributor updated"),
    applied: "handling=strict",
  });
});

const sendUndeclared = (Prefer: string) => send("GET", "/contributors?client=1&limit=1&x=1", { headers: { Prefer } });

it.each(["handling=strict", "return=minimal, Handling = Strict; x=1", 'respond-async, handling="strict"'])(
  "An undeclared parameter returns 400 with Prefer: %s",
  async (prefer) => {
    expect(await sendUndeclared(prefer)).toMatchObject({ body: { code: 400 }, applied: "handling=strict" });
  },
);

it.each(["handling=lenient", "handling=lenient, handling=strict", "strict"])(
  "An undeclared parameter returns 200 with Prefer: %s",
  async (prefer) => {
    expect(await sendUndeclared(prefer)).toMatchObject({ body: { from: 0 }, applied: null });
  },
);

it("Names that clients make up are escaped and cut, so that the header stays short", async () => {
  const names = ["", "a b", 'a"b\\', "naïve", "\r\nSet-Cookie: x", "\ud800", "x".repeat(100)];
  const refusalOf = (some: readonly string[]) => {
    const body = JSON.stringify({ name: "n", description: "d", ...Object.fromEntries(some.map((each) => [each, 1])) });
    return send("POST", "/admin-roles/add", { body, headers: strict });
  };
  const { faults, header } = await refusalOf(names);
  const many = await refusalOf(Array.from({ length: 5_000 }, (_, number) => `näme ${number}`));

  expect(Object.keys(faults ?? {})).toEqual([...names.slice(0, 5), "\ufffd", "x".repeat(64)]);
  expect(header.get("Set-Cookie")).toBeNull();
  expect(many.header.get("Invalid-Parameters")?.length).toBeLessThanOrEqual(2_000);
  expect(Object.keys(many.faults ?? {}).length).toBeGreaterThan(20);
});

it("The contract's README describes each reason", async () => {
  const text = await readFile(join(import.meta.dirname, "../../lib/contract/README.md"), "utf8");
  const described = text.match(/(?<=^\| `)[\w-]+(?=` \| (?:is|has|contains|comes) )/gm);

  expect(described).toEqual(Object.keys(reasons));
});

it.each([
  { what: "An unknown path", method: "GET", path: "/people" },
  { what: "A method that the path does not have", method: "PUT", path: "/contributors" },
])("$what returns 404 with a link to the reference", async ({ method, path }) => {
  const { body, header } = await send(method, path);

  expect(body).toEqual(envelope(404, "Not found"));
  expect(header.get("Link")).toBe("</docs>; rel=help");
});
