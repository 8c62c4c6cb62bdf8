import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
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

it("A server in a thread of its own starts and closes, and its end by an error is reported", async () => {
  const deaths: string[] = [];
  const start = (options: object) =>
    inThread({ module, start: "start", options: { name: "server", ...options } }, (why) => deaths.push(why));

  const server = await start({});
  await server.close();
  expect([server.url, deaths]).toEqual(["server true", []]);
  await start({ dies: true });
  await expect.poll(() => deaths).toEqual(["too far"]);
  await expect(start({ fails: true })).rejects.toThrow("cannot start");
});
