import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, it } from "vitest";

const outdir = inject("outdir");
const files = (await readdir(outdir, { recursive: true })).filter((file) => file.endsWith("index.mjs")).sort();
const bundles = await Promise.all(
  files.map(async (file) => [file.replace("/index.mjs", ""), await readFile(join(outdir, file), "utf8")] as const),
);
const endpointPathsWith = (pattern: RegExp) =>
  bundles.flatMap(([endpointPath, text]) => (pattern.test(text) ? [endpointPath] : []));

it("Only functions that make images load sharp", () => {
  const makers = ["admin-contributors/update-avatar", "admin-users/update-image"];

  expect(endpointPathsWith(/\bfrom\s*"sharp"/)).toEqual(makers);
  expect(endpointPathsWith(/sharp|[Vv]ips/)).toEqual(makers);
});

it("Only functions that remove or restore images know their bucket", () => {
  expect(endpointPathsWith(/\bIMAGE_BUCKET\b/)).toEqual([
    "admin-contributors/delete-avatar",
    "admin-contributors/delete",
    "admin-contributors/update-avatar",
    "admin-users/delete-image",
    "admin-users/delete",
    "admin-users/update-image",
    "ops/remove-images",
    "ops/undo",
  ]);
});
