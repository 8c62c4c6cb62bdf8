import { expect, it } from "vitest";
import { inThread } from "./thread.ts";

const source = `
  import { threadId } from "node:worker_threads";
  export const start = async ({ dies, fails }) => {
    if (fails) throw new Error("cannot start");
    if (dies) setTimeout(() => { throw new Error("too far"); }, 10);
    const timer = setInterval(() => {}, 1000);
    return { url: String(threadId > 0), close: async () => clearInterval(timer) };
  };`;

it("A server in a thread of its own starts and closes, and its end by an error is reported", async () => {
  const deaths: string[] = [];
  const module = `data:text/javascript,${encodeURIComponent(source)}`;
  const start = (options: object) => inThread({ module, start: "start", options }, (why) => deaths.push(why));

  const server = await start({});
  await server.close();
  expect([server.url, deaths]).toEqual(["true", []]);
  await start({ dies: true });
  await expect.poll(() => deaths).toEqual(["too far"]);
  await expect(start({ fails: true })).rejects.toThrow("cannot start");
});
