import { execFile } from "node:child_process";
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const source = join(import.meta.dirname, "express-prisma");
const installed = join(import.meta.dirname, "../../.local/express-prisma");

/**
 * Installs Express and Prisma, unless they are there: they are no part of `npm ci`.
 * @returns the file of the server
 */
export async function installExpressPrisma(): Promise<string> {
  const textOf = (folder: string, file: string) => readFile(join(folder, file), "utf8").catch(() => "");
  const inputs = ["package.json", "schema.prisma"];
  const isSame = async (file: string) => (await textOf(source, file)) === (await textOf(installed, file));
  const isInstalled =
    (await Promise.all(inputs.map(isSame))).every(Boolean) && (await textOf(installed, "done")) !== "";
  await cp(source, installed, { recursive: true });
  if (!isInstalled) {
    // The client needs none of Prisma's binaries, which would be downloaded; this one only seems to be there.
    const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
    const run = (command: string, ...args: string[]) => promisify(execFile)(command, args, { cwd: installed, env });
    await run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund");
    await run("npx", "prisma", "generate", "--schema", "schema.prisma");
    await cp(join(source, "schema.prisma"), join(installed, "done"));
  }
  return join(installed, "server.js");
}
