import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

const graceInMilliseconds = 1_000;
/** As long as API Gateway keeps a regional API's idle connection open; Node's own 5 s end while clients still count on it. */
const idleInMilliseconds = 310_000;

/** Listens on this machine's own addresses only, each with a server. `localhost` can be either of them. */
export async function listen(create: () => Server, chosen: number): Promise<{ url: string; close(): Promise<void> }> {
  const first = await open(create(), chosen, "127.0.0.1");
  const { port } = first.address() as AddressInfo;
  const second = await open(create(), port, "::1").catch(async (error: NodeJS.ErrnoException) => {
    // This machine has no IPv6; or another process has the port on ::1, which matters only if the caller chose the port.
    if (error.code !== "EADDRINUSE" || chosen === 0) return undefined;
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

async function open(server: Server, port: number, host: string): Promise<Server> {
  server.keepAliveTimeout = idleInMilliseconds;
  await once(server.listen(port, host), "listening");
  return server;
}

/**
 * Lets a server that only the SDK's clients call listen on 127.0.0.1. Closing it breaks all connections: clients do not wait
 * for the responses any more.
 */
export async function listenToClients(server: Server, port = 0): Promise<{ url: string; close(): Promise<void> }> {
  // Longer than any client keeps an idle connection: otherwise it could be closed while a request is on its way.
  server.keepAliveTimeout = 600_000;
  await once(server.listen(port, "127.0.0.1"), "listening");
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
  const timer = setTimeout(() => server.closeAllConnections(), graceInMilliseconds);
  await closed;
  clearTimeout(timer);
}
