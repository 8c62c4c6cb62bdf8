import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { vi } from "vitest";
import type { PublicRead } from "../../infra/api/public-reads.ts";
import { configuration } from "./nginx.ts";

const nginx = "/usr/sbin/nginx";
const clocks = ["x86_64", "aarch64"].map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`);
const clock = clocks.find((path) => existsSync(path));

/** Without nginx and libfaketime, tests of a shared cache are skipped, unless the environment requires them. */
export const hasSharedCache = (existsSync(nginx) && clock !== undefined) || process.env.COLOPHON_EDGE === "required";

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** nginx's cache status; undefined for requests that it only forwards. */
  readonly cache: "HIT" | "STALE" | "UPDATING" | "MISS" | "EXPIRED" | "REVALIDATED" | undefined;
}

interface Options {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface SharedCache {
  send(path: string, options?: Options): Promise<Answer>;
  /** Moves the cache's clock forward, which stands still otherwise. The origin has another clock. */
  advance(seconds: number): Promise<void>;
  /** All cached answers, as text: keys, headers and bodies. */
  entries(): Promise<string[]>;
  close(): Promise<void>;
}

/** Starts a shared cache before an origin: nginx with its own clock, and with the same public reads as CloudFront. */
export async function startSharedCache(origin: string, reads: readonly PublicRead[]): Promise<SharedCache> {
  if (!existsSync(nginx) || !clock) throw new Error("apt-get install nginx-light faketime");
  const directory = await mkdtemp(join(tmpdir(), "colophon-edge-"));
  const socket = join(directory, "socket");
  const time = join(directory, "time");
  await mkdir(join(directory, "kept"));
  let now = Date.now();
  await writeFile(time, clockTime(now));
  await writeFile(join(directory, "nginx.conf"), configuration({ directory, socket, origin, reads }));
  const server = spawn(nginx, ["-c", join(directory, "nginx.conf"), "-e", join(directory, "errors"), "-p", directory], {
    env: {
      LD_PRELOAD: clock,
      FAKETIME_TIMESTAMP_FILE: time,
      FAKETIME_NO_CACHE: "1",
      TZ: "UTC",
      // nginx's timers use the monotonic clock, and would all fire when it is moved.
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    },
    stdio: "ignore",
  });
  await untilReady(server, socket, join(directory, "errors"));
  const agent = new Agent({ keepAlive: true });
  return {
    send: (path, options = {}) => send(agent, socket, path, options),
    async advance(seconds) {
      now += seconds * 1_000;
      // Renamed, because nginx could read a half-written file, and an empty one means the real time.
      await writeFile(`${time}.next`, clockTime(now));
      await rename(`${time}.next`, time);
    },
    async entries() {
      const files = await readdir(join(directory, "kept"));
      return await Promise.all(files.map(async (file) => readable(await readFile(join(directory, "kept", file)))));
    },
    async close() {
      agent.destroy();
      server.kill("SIGTERM");
      if (server.exitCode === null) await once(server, "exit");
      await rm(directory, { recursive: true });
    },
  };
}

/** The format in which libfaketime reads the time of a clock that stands still. */
const clockTime = (milliseconds: number) => new Date(milliseconds).toISOString().slice(0, 19).replace("T", " ");

async function untilReady(server: ChildProcess, socket: string, errors: string): Promise<void> {
  // The socket exists before nginx listens on it.
  const isUp = () =>
    new Promise<boolean>((resolve) => {
      const connection = connect(socket, () => connection.destroy());
      connection.once("close", (hasFailed) => resolve(!hasFailed));
      connection.on("error", () => {});
    });
  await vi.waitUntil(async () => server.exitCode !== null || (await isUp()), { timeout: 10_000, interval: 20 });
  if (server.exitCode !== null) throw new Error(`nginx ended at once: ${await readFile(errors, "utf8")}`);
}

async function send(agent: Agent, socketPath: string, path: string, options: Options): Promise<Answer> {
  const { method = "GET", headers = {}, body } = options;
  const sent = request({ agent, socketPath, path, method, headers });
  sent.end(body);
  const [response] = await once(sent, "response");
  const content = await buffer(response);
  const isCompressed = response.headers["content-encoding"] === "gzip" && content.length > 0;
  return {
    status: response.statusCode,
    headers: response.headers,
    text: (isCompressed ? gunzipSync(content) : content).toString(),
    cache: response.headers["x-cache"],
  };
}

/** The text of nginx's cache file: binary fields, the key, the headers, and a body that may be compressed. */
function readable(file: Buffer): string {
  const [head, body] = [file.subarray(0, file.indexOf("\r\n\r\n")), file.subarray(file.indexOf("\r\n\r\n") + 4)];
  const isCompressed = head.includes("Content-Encoding: gzip");
  return `${head.toString("latin1")}\n${(isCompressed ? gunzipSync(body) : body).toString()}`;
}
