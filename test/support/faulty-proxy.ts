import { Agent, createServer, type IncomingHttpHeaders, type IncomingMessage, request as send } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** The faults, all with the same probability. */
const kinds = ["reset before", "reset after", "delay", "cut", "unavailable", "throttled"] as const;

interface Canned {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface FaultyProxyOptions {
  readonly target: string;
  /** The target's own responses when it is unavailable, and when it throttles. */
  readonly unavailable: Canned;
  readonly throttled: Canned;
  /** Returns numbers from 0 to 1. */
  readonly random: () => number;
  /** The share of requests with a fault. */
  readonly rate: number;
}

export interface FaultyProxy {
  readonly url: string;
  /** The number of requests, and of those with a fault. */
  readonly counts: { requests: number; faults: number };
  close(): Promise<void>;
}

const delayMaxInMilliseconds = 400;

/** Starts a proxy that forwards requests, and injects faults into some of them. */
export async function startFaultyProxy(options: FaultyProxyOptions): Promise<FaultyProxy> {
  const { random, rate } = options;
  const agent = new Agent({ keepAlive: true });
  const counts = { requests: 0, faults: 0 };

  const server = createServer(async (request, response) => {
    const { socket } = request;
    const body = await buffer(request);
    const kind = random() < rate ? kinds[Math.floor(random() * kinds.length)] : undefined;
    counts.requests += 1;
    if (kind) counts.faults += 1;
    if (kind === "reset before") return socket.resetAndDestroy();
    if (kind === "unavailable" || kind === "throttled") {
      const { status, headers, body: text } = options[kind];
      return response.writeHead(status, headers).end(text);
    }
    if (kind === "delay") await sleep(random() * delayMaxInMilliseconds);
    const result = await forward(request, body);
    if (kind === "reset after") return socket.resetAndDestroy();
    if (kind === "cut") return cut(socket, result);
    return response.writeHead(result.status, result.headers).end(result.body);
  });

  const forward = async ({ method, url, headers }: IncomingMessage, body: Buffer): Promise<Result> => {
    const { "transfer-encoding": _, expect: __, ...kept } = headers;
    const length = body.length > 0 ? { "content-length": String(body.length) } : {};
    const passed = send(new URL(url ?? "", options.target), { agent, method, headers: { ...kept, ...length } });
    const result = await new Promise<IncomingMessage>((resolve, reject) => {
      passed.once("response", resolve).once("error", reject).end(body);
    });
    return { status: result.statusCode ?? 0, headers: result.headers, body: await buffer(result) };
  };

  // Longer than any client keeps an idle connection, so the server never closes one while a request arrives.
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      agent.destroy();
    },
  };
}

interface Result {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends the head and half of the body. Without a body, the head has no end. */
function cut(socket: Socket, { status, body }: Result): void {
  const head = `HTTP/1.1 ${status} Cut\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  const half = body.length > 0 ? Buffer.concat([Buffer.from(`${head}\r\n`), body.subarray(0, body.length / 2)]) : head;
  socket.write(half, () => socket.resetAndDestroy());
}
