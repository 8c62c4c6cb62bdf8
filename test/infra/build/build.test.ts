import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type BuiltFunction, build } from "../../../infra/build/build.ts";
import { copyBuild } from "../../../infra/build/cached-build.ts";

it("A build gives the same bytes each time, wherever they go, and may be reused, whatever becomes of the copies", async () => {
  const directory = await mkdtemp(join(tmpdir(), "colophon-build-"));
  const outdir = join(import.meta.dirname, "../../../node_modules/.cache/colophon", `reuse-${process.pid}`);
  onTestFinished(async () => {
    for (const each of [directory, outdir]) await rm(each, { recursive: true });
  });
  const contentsOf = async (built: readonly BuiltFunction[]) =>
    await Promise.all(built.map(async ({ name, file }) => [name, await readFile(file, "utf8")]));
  const built = await build({ outdir: join(directory, "first") });
  const [first] = await copyBuild(outdir);
  await writeFile(first?.file ?? "", "edited");

  expect(await contentsOf(await copyBuild(outdir))).toEqual(await contentsOf(built));
  for (const { file } of built)
    expect(JSON.parse(await readFile(`${file}.map`, "utf8"))).not.toHaveProperty("sourcesContent");
});
