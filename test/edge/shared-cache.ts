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
import type { PublicRead } from "../../infra/public-reads.ts";
import { configuration } from "./nginx.ts";

const nginx = "/usr/sbin/nginx";
const clocks = ["x86_64", "aarch64"].map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`);
const clock = clocks.find((path) => existsSync(path));

/** Without nginx and libfaketime tests of a shared cache are skipped, unless the environment demands them. */
export const hasSharedCache = (existsSync(nginx) && clock !== undefined) || process.env.COLOPHON_EDGE === "required";

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** How the cache came by it, in nginx's words; undefined for what it only passes on. */
  readonly cache: "HIT" | "STALE" | "UPDATING" | "MISS" | "EXPIRED" | "REVALIDATED" | undefined;
}

interface Question {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface SharedCache {
  ask(path: string, question?: Question): Promise<Answer>;
  /** Moves its clock, which stands still otherwise, forward; the origin's stays as it is. */
  pass(seconds: number): Promise<void>;
  /** Everything that it keeps: keys, headers and bodies. */
  kept(): Promise<string[]>;
  close(): Promise<void>;
}

/** Starts a shared cache before an origin: nginx with a clock of its own, told of the same reads as CloudFront. */
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
      // Timers run by the monotonic clock, and shall not all go off at once.
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    },
    stdio: "ignore",
  });
  await untilReady(server, socket, join(directory, "errors"));
  const agent = new Agent({ keepAlive: true });
  return {
    ask: (path, question = {}) => ask(agent, socket, path, question),
    async pass(seconds) {
      now += seconds * 1_000;
      // Renamed, so that nobody reads an empty file, which would be the time of day.
      await writeFile(`${time}.next`, clockTime(now));
      await rename(`${time}.next`, time);
    },
    async kept() {
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

/** As libfaketime reads a time at which the clock stands. */
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

async function ask(agent: Agent, socketPath: string, path: string, question: Question): Promise<Answer> {
  const { method = "GET", headers = {}, body } = question;
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

/** What a file of nginx holds: binary fields, the key, the headers, and a body that may be compressed. */
function readable(file: Buffer): string {
  const [head, body] = [file.subarray(0, file.indexOf("\r\n\r\n")), file.subarray(file.indexOf("\r\n\r\n") + 4)];
  const isCompressed = head.includes("Content-Encoding: gzip");
  return `${head.toString("latin1")}\n${(isCompressed ? gunzipSync(body) : body).toString()}`;
}
