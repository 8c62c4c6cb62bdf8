import { describe, expect, it } from "vitest";
import { declarationOf, expectDeclared, expectHeaders } from "../support/contract.ts";

const roles = declarationOf("admin-roles/id");
const publishers = declarationOf("publishers/list");
const role = { id: 1, name: "Reader", description: "", is_default: 1, permissions: [] };
const json = { "Content-Type": "application/json" };
const publicly = {
  "Cache-Control": "public, max-age=60, s-maxage=600, stale-while-revalidate=60, stale-if-error=86400",
};
const cached = { ...publicly, "Cache-Tag": "publisher-7,series" };
const manyTags = `series${",series".repeat(50)}`;
const found = { ...cached, ETag: 'W/"x"' };
const current = "/contributor/slug/osamu-tezuka";
const never = { "Cache-Control": "no-store" };
const checking = (name: string, status: number, headers: Readonly<Record<string, string>>, limit?: number) => () =>
  expectHeaders(declarationOf(name), status, new Headers(headers), limit);

describe("The check of every test's responses", () => {
  it("accepts declared responses", () => {
    expectDeclared(roles, 200, role);
    expectDeclared(roles, 404, { data: "Role not found", code: 404 });
    expectDeclared(publishers, 200, { publishers: [], max: 3, from: 3, to: 3, count: 0 });
    checking("admin-roles/id", 200, { ...json, ...never, ETag: '"7"' })();
    checking("publishers/list", 200, { ...json, ...cached }, 50)();
    checking("publishers/list", 200, { ...json, ...never })();
    checking("publisher/random", 200, { ...json, ...never })();
    checking("publisher/slug", 304, { ...cached, ETag: 'W/"x"' })();
    checking("admin-roles/add", 200, { ...json, ...never, Location: "/admin-roles/id/7" })();
    checking("contributor/slug", 304, { ...found, "Content-Location": current })();
  });

  it.each([
    ["a field more", 200, { ...role, key: "reader" }],
    ["a field less", 200, { ...role, name: undefined }],
    ["a field of another type", 200, { ...role, is_default: true }],
    ["nothing", 200, undefined],
    ["an error's envelope with another status", 400, { data: "Role not found", code: 404 }],
    ["another endpoint's error", 405, { data: "Cannot delete default role", code: 405 }],
    ["another message", 404, { data: "Role not found.", code: 404 }],
    ["a field beside the envelope's", 404, { data: "Role not found", code: 404, stack: "" }],
    ["an undeclared status", 418, { data: "Role not found", code: 418 }],
  ])("refuses %s", (_, status, body) => {
    expect(() => expectDeclared(roles, status, body)).toThrow();
  });

  it.each([{ from: 0, count: 0 }, { from: 3, count: 1 }, { from: 3 }])(
    "refuses a list that does not count what it gives: %o",
    (counts) => {
      expect(() => expectDeclared(publishers, 200, { publishers: [], max: 3, to: 3, ...counts })).toThrow();
    },
  );

  it.each([
    ["304 of an administrative response", "admin-roles/id", 304, { ...never, ETag: '"7"' }],
    ["304 of a response that differs each time", "publisher/random", 304, never],
    ["another Content-Type than JSON", "publishers/list", 200, { "Content-Type": "text/html", ...cached }],
    ["details without an ETag", "admin-roles/id", 200, { ...json, ...never }],
    ["an error with an ETag", "admin-roles/id", 404, { ...json, ...never, ETag: '"7"' }],
    ["an administrative response that may be cached", "admin-roles/list", 200, { ...json, ...cached }],
    ["an error that may be cached", "publisher/slug", 404, { ...json, ...cached }],
    ["a public response that may not be cached", "publishers/list", 200, { ...json, ...never }],
    ["a public response without cache tags", "publishers/list", 200, { ...json, ...publicly }],
    ["an uncached response with cache tags", "publisher/random", 200, { ...json, ...never, "Cache-Tag": "series" }],
    ["words of a client in a tag", "publishers/list", 200, { ...json, ...cached, "Cache-Tag": "series,ann" }],
    ["more than fifty tags", "publishers/list", 200, { ...json, ...cached, "Cache-Tag": manyTags }],
    ["an addition without a Location", "admin-roles/add", 200, { ...json, ...never }],
    ["the Location of nothing", "admin-roles/add", 200, { ...json, ...never, Location: "/admin-roles/id/null" }],
    ["an error with a Location", "admin-roles/add", 409, { ...json, ...never, Location: "/admin-roles/id/7" }],
    ["an error with a Content-Location", "contributor/slug", 404, { ...json, ...never, "Content-Location": current }],
    ["a Content-Location elsewhere", "contributor/slug", 304, { ...found, "Content-Location": "/contributor/7" }],
    ["a Content-Location where slugs stay", "publisher/slug", 304, { ...found, "Content-Location": current }],
    ["an edit with a Location", "admin-roles/edit", 200, { ...json, ...never, Location: "/admin-roles/id/7" }],
  ])("refuses %s", (_, name, status, headers) => {
    expect(checking(name, status, headers, 50)).toThrow();
  });

  it("refuses a whole list that may be cached", () => {
    expect(checking("publishers/list", 200, { ...json, ...cached })).toThrow();
  });
});
