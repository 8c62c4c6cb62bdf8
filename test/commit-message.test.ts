import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";

/* The hook that CONTRIBUTING.md offers (.githooks/commit-msg). */

const hook = ".githooks/commit-msg";

/** What the hook prints, and "" for a subject that it accepts. */
function complaintAbout(subject: string): string {
  const input = `${subject}\n\nWhy, in a body of any length: ${"x".repeat(100)}\n# Please enter the message\n`;
  const { stderr, status } = spawnSync("sh", ["-c", 'cat | "$0" /dev/stdin', hook], { input, encoding: "utf8" });
  expect(status === 0).toBe(stderr === "");
  return stderr;
}

it.each([
  "Cache lists for a day",
  "Process images in two sizes",
  "Bring former slugs back",
  "Letter case of names",
  `Compare ${"ä".repeat(64)}`,
  "Merge branch 'main' into pages",
  'Revert "Let lists be cached"',
])("A commit may have the subject: %s", (subject) => {
  expect(complaintAbout(subject)).toBe("");
});

it.each([
  ["Let lists be cached", "begins with Let"],
  ["Say, what is cached", "begins with Say"],
  ["Tell operators what is cached", "begins with Tell"],
  ["Ask the edge", "begins with Ask"],
  ["Call it a release", "begins with Call"],
  ["Added a cache", "not imperative"],
  ["Caching lists", "not imperative"],
  ["Caches lists", "not imperative"],
  ["The cache of lists", "not imperative"],
  ["cache lists", "no capital letter"],
  ["Cache lists.", "full stop"],
  [`Cache ${"x".repeat(67)}`, "more than 72 characters"],
])("A commit has no such subject: %s", (subject, reason) => {
  expect(complaintAbout(subject)).toContain(reason);
});
