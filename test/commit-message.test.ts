import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";

/* The hook that CONTRIBUTING.md offers (.githooks/commit-msg). */

const hook = join(import.meta.dirname, "../.githooks/commit-msg");

/** What the hook prints, and "" for a subject that it accepts. */
async function complaintAbout(subject: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "colophon-commit-"));
  const file = join(directory, "COMMIT_EDITMSG");
  await writeFile(file, `${subject}\n\nWhy, in a body of any length: ${"x".repeat(100)}\n# Please enter the message\n`);
  const { stderr, status } = spawnSync(hook, [file], { encoding: "utf8" });
  await rm(directory, { recursive: true });
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
])("A commit may have the subject: %s", async (subject) => {
  expect(await complaintAbout(subject)).toBe("");
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
])("A commit has no such subject: %s", async (subject, reason) => {
  expect(await complaintAbout(subject)).toContain(reason);
});
