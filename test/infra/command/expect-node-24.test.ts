import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { arch, platform, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import manifest from "../../../package.json" with { type: "json" };
import { runProgram } from "../../support/script.ts";

const script = "infra/command/expect-node-24.js";
let project: string;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "colophon-packages-"));
  await cp(script, join(project, script));
  await writeFile(join(project, "package.json"), JSON.stringify({ ...manifest, scripts: {} }));
});

afterAll(() => rm(project, { recursive: true }));

/** A Node.js of another version or machine sees only what it says of itself. */
async function runBy(of: { readonly version?: string; readonly arch?: string }) {
  const versions = { node: of.version ?? "24.2.0" };
  const lines = Object.entries({ versions, arch: of.arch ?? arch() }).map(
    ([name, value]) => `Object.defineProperty(process,"${name}",{value:${JSON.stringify(value)}})`,
  );
  const flags = ["--import", `data:text/javascript,${encodeURIComponent(lines.join(";"))}`];
  const { code, complaint } = await runProgram(process.execPath, [...flags, join(project, script)]);
  return { code, complaint };
}

it("npm scripts end with a sentence where nothing is installed", async () => {
  expect(await runBy({})).toEqual({ code: 1, complaint: "Nothing is installed: run npm ci\n" });
});

it("npm scripts end with a sentence under a Node.js that cannot run them, and run under 24", async () => {
  await mkdir(join(project, "node_modules"));
  await writeFile(join(project, "node_modules/.package-lock.json"), "{}");
  const installed = `run npm ci --include=optional, which installs node-${platform()}-${arch()}\n`;

  for (const version of ["18.19.1", "20.20.2", "24.1.0"])
    expect(await runBy({ version })).toEqual({
      code: 1,
      complaint: `Node.js ${version} cannot run this, which needs Node.js 24: ${installed}`,
    });
  expect((await runBy({ version: "22.23.2", arch: "riscv64" })).complaint).toMatch(
    /install it, since npm ci has none for \w+ on riscv64\n$/,
  );
  for (const version of ["24.2.0", "25.0.0"]) expect(await runBy({ version })).toEqual({ code: 0, complaint: "" });
});

it.each(Object.entries(manifest.scripts))("npm run %s looks first whether it can run", (_, command) => {
  const needsNode24 = /\.ts\b|\bvitest\b/.test(command);
  expect(/^node (--import \.\/)?infra\/command\/expect-node-24\.js /.test(command)).toBe(needsNode24);
});
