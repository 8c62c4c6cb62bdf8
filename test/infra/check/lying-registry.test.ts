import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { listenToClients } from "../../../infra/aws-local/http/listen.ts";
import manifest from "../../../package.json" with { type: "json" };
import lock from "../../../package-lock.json" with { type: "json" };
import { runProgram } from "../../support/script.ts";

const { optionalDependencies } = manifest;
const locked = Object.fromEntries(
  Object.entries(lock.packages).filter(([path]) => path.replace("node_modules/", "") in optionalDependencies),
);
const withoutHashes = Object.fromEntries(
  Object.entries(locked).map(([path, entry]) => [path, { ...entry, integrity: undefined }]),
);
let directory: string;
let registry: Awaited<ReturnType<typeof listenToClients>>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "colophon-registry-"));
  const tarballs = new Map<string, Buffer>();
  for (const name of Object.keys(optionalDependencies)) tarballs.set(`/${name}.tgz`, await lyingTarball(name));
  const server = createServer(({ url = "", headers }, response) => {
    const tarball = tarballs.get(url);
    if (tarball) return void response.end(tarball);
    response.end(JSON.stringify(packument(url.slice(1), `http://${headers.host}`, tarballs.get(`${url}.tgz`))));
  });
  registry = await listenToClients(server);
});

afterAll(async () => {
  await registry.close();
  await rm(directory, { recursive: true });
});

/** With a program that shows that it has run. */
async function lyingTarball(name: string): Promise<Buffer> {
  const folder = join(directory, name);
  await mkdir(join(folder, "package/bin"), { recursive: true });
  const version = versionOf(name);
  await writeFile(join(folder, "package/package.json"), JSON.stringify({ name, version, bin: "bin/node" }));
  await writeFile(join(folder, "package/bin/node"), "#!/bin/sh\ntouch has-run\n", { mode: 0o755 });
  await runProgram("tar", ["-czf", join(directory, `${name}.tgz`), "-C", folder, "package"]);
  return await readFile(join(directory, `${name}.tgz`));
}

const versionOf = (name: string) => Object.entries(optionalDependencies).find(([each]) => each === name)?.[1] ?? "";

/** The lie is consistent: the registry has the hash of what it delivers. */
function packument(name: string, url: string, tarball: Buffer = Buffer.of()) {
  const version = versionOf(name);
  const dist = { tarball: `${url}/${name}.tgz`, integrity: `sha512-${hash("sha512", tarball, "base64")}` };
  return { name, "dist-tags": { latest: version }, versions: { [version]: { name, version, dist } } };
}

it.each([
  { what: "runs", why: "without a hash in the lock file", packages: withoutHashes, isRun: true },
  { what: "does not run", why: "because of its hash in the lock file", packages: locked, isRun: false },
])("Node.js of a registry that lies $what $why", async ({ packages, isRun }) => {
  const project = await mkdtemp(join(directory, "project-"));
  await writeFile(join(project, "package.json"), JSON.stringify({ optionalDependencies }));
  const root = { "": { optionalDependencies }, ...packages };
  await writeFile(join(project, "package-lock.json"), JSON.stringify({ lockfileVersion: 3, packages: root }));
  const flags = ["--registry", registry.url, "--cache", join(project, "cache"), "--no-audit", "--fetch-retries=0"];

  await runProgram("npm", ["ci", ...flags], { cwd: project });
  await runProgram("npm", ["exec", "--call", "node --version"], { cwd: project });

  expect(existsSync(join(project, "has-run"))).toBe(isRun);
});
