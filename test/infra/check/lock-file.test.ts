import { expect, it } from "vitest";
import { problemsOf } from "../../../infra/check/lock-file.ts";
import lock from "../../../package-lock.json" with { type: "json" };

const integrity = "sha512-…";

it.each([
  ["node_modules/a", {}, "has no integrity"],
  ["node_modules/a/node_modules/b", {}, "has no integrity"],
  ["node_modules/a", { integrity, resolved: "http://localhost:4873/a.tgz" }, "comes from http://localhost:4873/a.tgz"],
])("The lock file is refused: %s %j", (name, entry, problem) => {
  expect(problemsOf({ [name]: entry })).toEqual([`package-lock.json: ${name} ${problem}`]);
});

it("The lock file may have what is in this repository, or in the tarball of a package with a hash", () => {
  expect(problemsOf(lock.packages)).toEqual([]);
  const linked = { resolved: "infra/part", link: true };
  expect(problemsOf({ "": {}, "node_modules/part": linked, "node_modules/a": { inBundle: true } })).toEqual([]);
});
