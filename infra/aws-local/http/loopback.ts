import type { IncomingMessage } from "node:http";

const names = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;

/**
 * Whether the `Host` header names this machine. A web page of another host cannot send such a header, even if its name
 * resolves to this machine (DNS rebinding); a client behind a tunnel can, with any port.
 */
export const isForThisMachine = ({ headers }: IncomingMessage): boolean => names.test(headers.host ?? "");

/** Whether it comes from a web page, for which browsers send `Origin`, or names another host. */
export const isFromPage = (request: IncomingMessage): boolean =>
  request.headers.origin !== undefined || !isForThisMachine(request);
