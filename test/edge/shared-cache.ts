import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { vi } from "vitest";
import type { PublicRead } from "../../infra/api/public-reads.ts";
import { configuration, type EdgeOptions } from "./varnish.ts";

const varnish = "/usr/sbin/varnishd";
const headerModule = ["x86_64", "aarch64"].map(
  (machine) => `/usr/lib/${machine}-linux-gnu/varnish/vmods/libvmod_header.so`,
);

const isInstalled = existsSync(varnish) && headerModule.some((path) => existsSync(path));

/** Without Varnish, tests of a shared cache are skipped, unless the environment requires them. */
export const hasSharedCache = isInstalled || process.env.COLOPHON_EDGE === "required";

interface Options {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export type SharedCache = Awaited<ReturnType<typeof startSharedCache>>;

/**
 * Starts a shared cache before an origin: Varnish with the same public reads as CloudFront.
 */
export async function startSharedCache(origin: string, reads: readonly PublicRead[], options: EdgeOptions = {}) {
  if (!isInstalled) throw new Error("apt-get install varnish varnish-modules");
  const directory = await mkdtemp(join(tmpdir(), "colophon-edge-"));
  const [visitors, invalidations] = [join(directory, "visitors"), join(directory, "invalidations")];
  await writeFile(join(directory, "edge.vcl"), configuration(origin, reads, options));
  const listeners = ["-a", `visitors=${visitors}`, "-a", `invalidations=${invalidations}`];
  const places = ["-j", "none", "-n", directory, "-T", "none", "-s", "malloc,256m", "-f", join(directory, "edge.vcl")];
  const server = spawn(varnish, ["-F", ...places, ...listeners, ...parameters], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  server.stderr.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  await vi.waitUntil(async () => server.exitCode !== null || (await isListening(visitors)), { timeout: 30_000 });
  if (server.exitCode !== null) throw new Error(`Varnish ended at once: ${said}`);
  const agent = new Agent({ keepAlive: true });
  return {
    send: (path: string, options: Options = {}) => send(agent, visitors, path, options),
    /** Forgets what an item of CloudFront's CreateInvalidation matches: a tag as `#contributor-5`, or all by `/*`. */
    async invalidate(items: readonly string[]) {
      const { status } = await send(agent, invalidations, "/", { headers: { Ban: ban(items) } });
      if (status !== 200) throw new Error(`Varnish refused to forget ${items}`);
    },
    async close() {
      agent.destroy();
      server.kill("SIGTERM");
      if (server.exitCode === null) await once(server, "exit");
      await rm(directory, { recursive: true });
    },
  };
}

const parameters = [
  // Without gzip of its own, Varnish keeps compressed responses as they come.
  "http_gzip_support=off",
  // It adds threads slowly, and drops what waits for one for long.
  "thread_pools=1",
  "thread_pool_min=300",
  // A connection that it closes when idle may just be used again.
  "timeout_idle=3600",
  // No process reads its log.
  "vsl_space=1M",
].flatMap((each) => ["-p", each]);

/** Varnish's expression for what these items match: a whole tag, in any case. */
function ban(items: readonly string[]): string {
  if (items.includes("/*")) return "obj.status != 0";
  const tags = items.map((item) => item.replace(/^#/, "").replace(/[^\w-]/g, "\\$&"));
  return `obj.http.Cache-Tag ~ (?i)(^|,)[[:blank:]]*(${tags.join("|")})[[:blank:]]*(,|$)`;
}

const isListening = (socket: string) =>
  new Promise<boolean>((resolve) => {
    const connection = connect(socket, () => connection.destroy());
    connection.once("close", (hasFailed) => resolve(!hasFailed));
    connection.on("error", () => {});
  });

/** Sends a request to a server that listens on a socket of the file system, and decompresses the response. */
export async function send(
  agent: Agent | undefined,
  socketPath: string,
  path: string,
  { method = "GET", headers = {}, body }: Options,
) {
  const sent = request({ agent, socketPath, path, method, headers });
  sent.end(body);
  const [response]: IncomingMessage[] = await once(sent, "response");
  if (!response) throw new Error("No response");
  const content = await buffer(response);
  const isCompressed = response.headers["content-encoding"] === "gzip" && content.length > 0;
  return {
    status: response.statusCode ?? 500,
    headers: response.headers,
    text: (isCompressed ? gunzipSync(content) : content).toString(),
    /** Where the response came from: HIT, STALE or MISS; undefined for requests that are never cached. */
    cache: response.headers["x-cache"],
  };
}
