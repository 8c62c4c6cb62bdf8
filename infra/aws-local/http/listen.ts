import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";

interface Listener {
  readonly port: number;
  readonly headerBytesMax: number;
  readonly handle: RequestListener;
  readonly clientError: (error: NodeJS.ErrnoException, socket: Socket) => void;
}

const graceInMilliseconds = 1_000;
/** As long as API Gateway keeps a regional API's idle connection open; Node's own 5 s end while clients still count on it. */
const idleInMilliseconds = 310_000;

/** Listens on this machine's own addresses only. `localhost` can be either of them. */
export async function listen(listener: Listener): Promise<{ url: string; close(): Promise<void> }> {
  const first = await open(listener, listener.port, "127.0.0.1");
  const { port } = first.address() as AddressInfo;
  const second = await open(listener, port, "::1").catch(async (error: NodeJS.ErrnoException) => {
    // This machine has no IPv6; or another process has the port on ::1, which matters only if the caller chose the port.
    if (error.code !== "EADDRINUSE" || listener.port === 0) return undefined;
    await close(first);
    throw error;
  });
  const servers = second ? [first, second] : [first];
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      await Promise.all(servers.map(close));
    },
  };
}

async function open({ headerBytesMax, handle, clientError }: Listener, port: number, host: string): Promise<Server> {
  const server = createServer({ maxHeaderSize: headerBytesMax }, handle).on("clientError", clientError);
  // Node's own 417 has no body. A server may as well ignore what it does not know (RFC 9110, 10.1.1).
  server.on("checkExpectation", handle);
  server.keepAliveTimeout = idleInMilliseconds;
  await bind(server, port, host);
  return server;
}

const bind = (server: Server, port: number, host: string) =>
  new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, resolve);
  });

/**
 * Lets a server that only the SDK's clients call listen on 127.0.0.1. Closing it breaks all connections: clients do not wait
 * for the responses any more.
 */
export async function listenToClients(server: Server, port = 0): Promise<{ url: string; close(): Promise<void> }> {
  // Longer than any client keeps an idle connection: otherwise it could be closed while a request is on its way.
  server.keepAliveTimeout = 600_000;
  await bind(server, port, "127.0.0.1");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Requests that are in progress have a second to end. */
async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceInMilliseconds);
  await closed;
  clearTimeout(timer);
}
