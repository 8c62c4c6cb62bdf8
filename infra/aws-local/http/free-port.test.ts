import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { freePort, isFree } from "./free-port.ts";

describe("freePort", () => {
  it("is none of those that the system gives to connections and servers", async () => {
    const ports = await Promise.all(Array.from({ length: 100 }, freePort));

    for (const port of ports) expect(port).toBeLessThan(32_768);
  });

  it("is none that a server listens on", async () => {
    const server = createServer();
    const port = await freePort();
    await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));

    expect(await isFree(port)).toBe(false);

    await new Promise((done) => server.close(done));
    expect(await isFree(port)).toBe(true);
  });
});
