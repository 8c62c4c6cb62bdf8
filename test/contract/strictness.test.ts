import { describe, expect, it } from "vitest";
import { declarationOf, expectDeclared, expectHeaders } from "../support/contract.ts";

/* The check that every test makes of a response. */

const role = { id: 1, name: "Reader", description: "", is_default: 1, permissions: [] };
const counted = { publishers: [], max: 3, from: 3, to: 3, count: 0 };
const json = { "Content-Type": "application/json" };
const publicly = {
  ...json,
  "Cache-Control": "public, max-age=60, s-maxage=600, stale-while-revalidate=60, stale-if-error=86400",
};
const cached = { ...publicly, "Cache-Tag": "publisher-7,series" };
const never = { ...json, "Cache-Control": "no-store" };
const found = { ...cached, ETag: 'W/"x"' };
const current = { "Content-Location": "/contributor/slug/osamu-tezuka" };
const at = { Location: "/admin-roles/id/7" };

interface Row {
  readonly what: string;
  readonly endpoint: string;
  readonly status: number;
}

/** What an endpoint may respond, and what it may not, since one thing in it differs. */
const bodies: readonly (Row & { readonly body: object; readonly refused: Readonly<Record<string, unknown>> })[] = [
  {
    what: "A role",
    endpoint: "admin-roles/id",
    status: 200,
    body: role,
    refused: {
      "without a body": undefined,
      "with a field that no role has": { ...role, key: "reader" },
      "without its name": { ...role, name: undefined },
      "with a boolean that should be a number": { ...role, is_default: true },
    },
  },
  {
    what: "An error",
    endpoint: "admin-roles/id",
    status: 404,
    body: { data: "Role not found", code: 404 },
    refused: {
      "without a body": undefined,
      "with another message": { data: "Role not found.", code: 404 },
    },
  },
  {
    what: "A list",
    endpoint: "publishers/list",
    status: 200,
    body: counted,
    refused: {
      "without a body": undefined,
      "with a from that contradicts its to": { ...counted, from: 0 },
      "with a count of records that it does not have": { ...counted, count: 1 },
    },
  },
];

type Head = Readonly<Record<string, string>>;

const heads: readonly (Row & {
  readonly limit?: number;
  readonly headers: Head;
  readonly refused: Readonly<Record<string, Head>>;
})[] = [
  {
    what: "A detail with a version",
    endpoint: "admin-roles/id",
    status: 200,
    headers: { ...never, ETag: '"7"' },
    refused: { "without its ETag": never, "with a time in caches": { ...cached, ETag: '"7"' } },
  },
  {
    what: "An added record",
    endpoint: "admin-roles/add",
    status: 200,
    headers: { ...never, ...at },
    refused: {
      "without its Location": never,
      "with a Location of no record": { ...never, Location: "/admin-roles/id/null" },
    },
  },
  {
    what: "An edited record",
    endpoint: "admin-roles/edit",
    status: 200,
    headers: never,
    refused: { "with a Location": { ...never, ...at } },
  },
  {
    what: "A public error",
    endpoint: "publisher/slug",
    status: 404,
    headers: never,
    refused: { "with a time in caches": { ...json, ...cached }, "with an ETag": { ...never, ETag: '"7"' } },
  },
  {
    what: "A page of a public list",
    endpoint: "publishers/list",
    status: 200,
    limit: 50,
    headers: found,
    refused: {
      "that no cache may store": never,
      "without cache tags": publicly,
      "without an ETag": cached,
      "with a cache tag of another kind": { ...found, "Cache-Tag": "series,ann" },
      "with more than fifty cache tags": { ...found, "Cache-Tag": `series${",series".repeat(50)}` },
      "with another type": { ...found, "Content-Type": "text/html" },
    },
  },
  {
    what: "A page of a public list that has not changed",
    endpoint: "publishers/list",
    status: 304,
    limit: 50,
    headers: found,
    refused: { "without its ETag": cached, "that no cache may store": { ...never, ETag: 'W/"x"' } },
  },
  {
    what: "A page of a public list with something random",
    endpoint: "contributors/list",
    status: 200,
    limit: 50,
    headers: cached,
    refused: { "that no cache may store": never },
  },
  {
    what: "A whole public list",
    endpoint: "publishers/list",
    status: 200,
    headers: never,
    refused: { "with a time in caches": cached },
  },
  {
    what: "A detail that a former slug has found",
    endpoint: "contributor/slug",
    status: 304,
    headers: { ...found, ...current },
    refused: { "with a Content-Location of no slug": { ...found, "Content-Location": "/contributor/7" } },
  },
];

describe.each(bodies)("$what", ({ endpoint, status, body, refused }) => {
  const check = (status: number, body: unknown) => () => expectDeclared(declarationOf(endpoint), status, body);

  it("is accepted, with this status alone", () => {
    expect(check(status, body)).not.toThrow();
    expect(check(418, body)).toThrow();
  });

  it.each(Object.entries(refused))("is refused %s", (_, other) => {
    expect(check(status, other)).toThrow();
  });
});

describe.each(heads)("$what", ({ endpoint, status, limit, headers, refused }) => {
  const check = (headers: Head) => () => expectHeaders(declarationOf(endpoint), status, new Headers(headers), limit);

  it("is accepted with its headers", () => {
    expect(check(headers)).not.toThrow();
  });

  it.each(Object.entries(refused))("is refused %s", (_, others) => {
    expect(check(others)).toThrow();
  });
});
