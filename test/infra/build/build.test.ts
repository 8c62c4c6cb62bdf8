import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BuiltFunction, build } from "../../../infra/build/build.ts";
import { copyBuild } from "../../../infra/build/cached-build.ts";

const run = promisify(execFile);
let directory: string;
let built: BuiltFunction[];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "colophon-build-"));
  built = await build({ outdir: join(directory, "first") });
});

afterAll(() => rm(directory, { recursive: true }));

const contentOf = ({ file }: BuiltFunction) => readFile(file, "utf8");

describe("build", () => {
  it("gives modules that Node.js can parse", async () => {
    // In one process: each would take 0.2 s to start.
    const parse = `
      import { readFileSync } from "node:fs";
      import { SourceTextModule } from "node:vm";
      for (const file of process.argv.slice(1)) new SourceTextModule(readFileSync(file, "utf8"), { identifier: file });
    `;
    const flags = ["--experimental-vm-modules", "--input-type=module", "--eval", parse];
    await run(process.execPath, [...flags, ...built.map(({ file }) => file)]);
  });

  it("gives the same bytes each time, wherever they go, and may be reused, whatever becomes of the copies", async () => {
    const outdir = join(import.meta.dirname, "../../../node_modules/.cache/colophon", `reuse-${process.pid}`);
    const [first] = await copyBuild(outdir);
    await writeFile(first?.file ?? "", "edited");

    const reused = await copyBuild(outdir);

    expect(reused.map(({ name, bytes }) => [name, bytes])).toEqual(built.map(({ name, bytes }) => [name, bytes]));
    for (const [index, each] of reused.entries())
      expect(await contentOf(each)).toBe(await contentOf(built[index] ?? each));
    await rm(outdir, { recursive: true });
  });

  it("takes the migrations along as text, and no sources", async () => {
    const migrate = built.find(({ name }) => name === "ops-migrate");
    if (!migrate) throw new Error("ops-migrate was not built");

    expect(await contentOf(migrate)).toContain("create table contributors");
    const map = JSON.parse(await readFile(`${migrate.file}.map`, "utf8"));
    expect(map).not.toHaveProperty("sourcesContent");
  });
});
