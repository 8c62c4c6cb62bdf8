import { expect, it } from "vitest";
import { problemsOf } from "../../../infra/check/lock-file.ts";
import lock from "../../../package-lock.json" with { type: "json" };

const integrity = "sha512-…";

it.each([
  { what: "a package without a hash", name: "node_modules/a", entry: {}, problem: "has no integrity" },
  {
    what: "a package of a package without a hash",
    name: "node_modules/a/node_modules/b",
    entry: {},
    problem: "has no integrity",
  },
  {
    what: "a package of another registry",
    name: "node_modules/a",
    entry: { integrity, resolved: "http://localhost:4873/a.tgz" },
    problem: "comes from http://localhost:4873/a.tgz",
  },
])("The lock file may not have $what", ({ name, entry, problem }) => {
  expect(problemsOf({ [name]: entry })).toEqual([`package-lock.json: ${name} ${problem}`]);
});

it("The lock file may have what is in this repository, or in the tarball of a package with a hash", () => {
  expect(problemsOf(lock.packages)).toEqual([]);
  const linked = { resolved: "infra/part", link: true };
  expect(problemsOf({ "": {}, "node_modules/part": linked, "node_modules/a": { inBundle: true } })).toEqual([]);
});
