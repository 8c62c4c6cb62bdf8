import { describe, expect, it } from "vitest";
import { declarationOf, expectDeclared, expectHeaders } from "../support/contract.ts";

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

type Body = readonly [name: string, status: number, body: unknown];
type Head = readonly [name: string, status: number, headers: Readonly<Record<string, string>>, limit?: number];
const check = ([name, status, body]: Body) => expectDeclared(declarationOf(name), status, body);
const checkHead = ([name, status, headers, limit]: Head) =>
  expectHeaders(declarationOf(name), status, new Headers(headers), limit);

/** What each endpoint may respond, and what differs from it in one thing. */
const bodies: [allowed: Body, ...refused: object[]][] = [
  [
    ["admin-roles/id", 200, role],
    { ...role, key: "reader" },
    { ...role, name: undefined },
    { ...role, is_default: true },
  ],
  [["admin-roles/id", 404, { data: "Role not found", code: 404 }], { data: "Role not found.", code: 404 }],
  [["publishers/list", 200, counted], { ...counted, from: 0 }, { ...counted, count: 1 }],
];
const heads: [allowed: Head, ...refused: Head[2][]][] = [
  [["admin-roles/id", 200, { ...never, ETag: '"7"' }], never, { ...cached, ETag: '"7"' }],
  [["admin-roles/add", 200, { ...never, ...at }], never, { ...never, Location: "/admin-roles/id/null" }],
  [["admin-roles/edit", 200, never], { ...never, ...at }],
  [["publisher/slug", 404, never], { ...json, ...cached }, { ...never, ETag: '"7"' }],
  [
    ["publishers/list", 200, found, 50],
    never,
    publicly,
    cached,
    { ...found, "Cache-Tag": "series,ann" },
    { ...found, "Cache-Tag": `series${",series".repeat(50)}` },
    { ...found, "Content-Type": "text/html" },
  ],
  [["publishers/list", 304, found, 50], cached, { ...never, ETag: 'W/"x"' }],
  [["contributors/list", 200, cached, 50], never],
  [["publishers/list", 200, never], cached],
  [["contributor/slug", 304, { ...found, ...current }], { ...found, "Content-Location": "/contributor/7" }],
];

describe("The check of every test's responses", () => {
  it.each(bodies)("accepts %o, and nothing else", (...[allowed, ...refused]) => {
    const [name, status, body] = allowed;
    expect(() => check(allowed)).not.toThrow();
    expect(() => check([name, 418, body])).toThrow();
    for (const each of [undefined, ...refused]) expect(() => check([name, status, each]), String(each)).toThrow();
  });

  it.each(heads)("accepts %o, and no other headers", (...[allowed, ...refused]) => {
    const [name, status, , ...limit] = allowed;
    expect(() => checkHead(allowed)).not.toThrow();
    for (const each of refused) expect(() => checkHead([name, status, each, ...limit]), JSON.stringify(each)).toThrow();
  });
});
