import { describe, expect, it } from "vitest";
import { declarationOf, expectDeclared, expectHeaders } from "../support/contract.ts";

const roles = declarationOf("admin-roles/id");
const publishers = declarationOf("publishers/list");
const role = { id: 1, name: "Reader", description: "", is_default: 1, permissions: [] };
const json = new Headers({ "Content-Type": "application/json" });
const versioned = new Headers({ "Content-Type": "application/json", ETag: '"7"' });

describe("The check of every test's answers", () => {
  it("accepts declared answers", () => {
    expectDeclared(roles, 200, role);
    expectDeclared(roles, 404, { data: "Role not found", code: 404 });
    expectDeclared(publishers, 200, { publishers: [], max: 3, from: 3, to: 3, count: 0 });
    expectHeaders(roles, 200, versioned);
    expectHeaders(declarationOf("publisher/slug"), 304, new Headers());
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

  it.each([
    { publishers: [], max: 3, from: 0, to: 3, count: 0 },
    { publishers: [], max: 3, from: 3, to: 3, count: 1 },
    { publishers: [], max: 3, from: 3, to: 3 },
  ])("refuses a list that does not count what it gives: %o", (body) => {
    expect(() => expectDeclared(publishers, 200, body)).toThrow();
  });

  it("rejects 304 to uncacheable answers, a Content-Type other than JSON, and details without an ETag", () => {
    expect(() => expectHeaders(roles, 304, new Headers())).toThrow();
    expect(() => expectHeaders(declarationOf("publisher/random"), 304, new Headers())).toThrow();
    expect(() => expectHeaders(publishers, 200, new Headers({ "Content-Type": "text/html" }))).toThrow();
    expect(() => expectHeaders(roles, 200, json)).toThrow();
  });
});
