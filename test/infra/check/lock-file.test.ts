import { describe, expect, it } from "vitest";
import { problemsOf } from "../../../infra/check/lock-file.ts";
import lock from "../../../package-lock.json" with { type: "json" };

const hashed = { version: "1.0.0", integrity: "sha512-…" };

describe("The lock file", () => {
  it("has a hash of every package", () => {
    expect(problemsOf(lock.packages)).toEqual([]);
  });

  it.each([
    ["node_modules/a 1.0.0 has no integrity", "node_modules/a", { version: "1.0.0" }],
    ["node_modules/a/node_modules/b 2.0.0 has no integrity", "node_modules/a/node_modules/b", { version: "2.0.0" }],
    [
      "node_modules/a comes from http://localhost:4873/a.tgz",
      "node_modules/a",
      { ...hashed, resolved: "http://localhost:4873/a.tgz" },
    ],
  ])("is refused: %s", (problem, name, entry) => {
    expect(problemsOf({ [name]: entry })).toEqual([`package-lock.json: ${problem}`]);
  });

  it.each([
    ["", { version: "0.1.0" }],
    ["infra/part", { version: "0.1.0" }],
    ["node_modules/part", { resolved: "infra/part", link: true }],
    ["node_modules/a", { ...hashed, resolved: "https://registry.npmjs.org/a/-/a-1.0.0.tgz" }],
    ["node_modules/a/node_modules/b", { version: "2.0.0", inBundle: true }],
  ])("may have what is in this repository, or in the tarball of a package with a hash: %s", (name, entry) => {
    expect(problemsOf({ [name]: entry })).toEqual([]);
  });
});
