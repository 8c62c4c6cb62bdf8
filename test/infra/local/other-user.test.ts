import { spawn } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeCredentials } from "../../../infra/local/credentials.ts";
import { key } from "../../support/environment.ts";
import { type Stack, startStack } from "../../support/stack.ts";

let directory: string;
let stack: Stack;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "colophon-user-"));
  await chmod(directory, 0o755);
  await writeCredentials(directory, key);
  stack = await startStack({ uploads: true });
});

afterAll(async () => {
  await stack.close();
  await rm(directory, { recursive: true });
});

/** What another user of this machine gets to see, whom root can become. */
const script = `
  const { readFile } = await import("node:fs/promises");
  const [nobody, file, ...urls] = process.argv.slice(1);
  process.setgroups([]);
  process.setgid(Number(nobody));
  process.setuid(Number(nobody));
  const read = await readFile(file).then(() => "read", ({ code }) => code);
  const statuses = await Promise.all(urls.map(async (url) => (await fetch(url, { method: "POST", body: "{}" })).status));
  console.log(JSON.stringify([read, ...statuses]));
`;

describe("Another user of this machine", () => {
  it("can neither read the key nor get an answer without it", async () => {
    const file = join(directory, "credentials");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    if (process.getuid?.() !== 0) return;
    const nobody = /^nobody:[^:]*:(\d+)/m.exec(await readFile("/etc/passwd", "utf8"))?.[1] ?? "65534";
    const urls = [
      `${stack.dataApi.url}/Execute`,
      `${stack.s3?.url}/images`,
      `${stack.url}/2015-03-31/functions/ops-issue-refresh-token/invocations`,
    ];

    const flags = ["--input-type=module", "-e", script, nobody, file, ...urls];
    const { stdout } = spawn(process.execPath, flags, { stdio: ["ignore", "pipe", "inherit"], cwd: "/" });

    expect(await json(stdout)).toEqual(["EACCES", 403, 403, 403]);
  });
});
