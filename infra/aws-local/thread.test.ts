import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inThread } from "./thread.ts";

let directory: string;
let module: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "colophon-thread-"));
  const file = join(directory, "server.mjs");
  await writeFile(
    file,
    `import { threadId } from "node:worker_threads";
     export const start = async ({ name, dies, fails }) => {
       if (fails) throw new Error("cannot start");
       if (dies) setTimeout(() => { throw new Error("too far"); }, 10);
       const timer = setInterval(() => {}, 1000);
       return { url: name + " " + (threadId > 0), close: async () => clearInterval(timer) };
     };`,
  );
  module = pathToFileURL(file).href;
});

afterAll(() => rm(directory, { recursive: true }));

const start = (options: object, deaths: string[]) =>
  inThread({ module, start: "start", options: { name: "server", ...options } }, (why) => deaths.push(why));

describe("A server in a thread of its own", () => {
  it("starts and closes without calling onExit", async () => {
    const deaths: string[] = [];

    const server = await start({}, deaths);
    await server.close();

    expect(server.url).toBe("server true");
    expect(deaths).toEqual([]);
  });

  it("calls onExit with the reason when its thread ends", async () => {
    const deaths: string[] = [];

    await start({ dies: true }, deaths);

    await expect.poll(() => deaths).toEqual(["too far"]);
  });

  it("fails with the reason when it does not start", async () => {
    await expect(start({ fails: true }, [])).rejects.toThrow("cannot start");
  });
});
