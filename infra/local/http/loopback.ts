import type { IncomingMessage } from "node:http";

const names = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;

/**
 * Whether a request names this machine as its host. A page of another host that makes its own name lead here, by DNS
 * rebinding, cannot; a tunnel can, by whichever port.
 */
export const isForThisMachine = ({ headers }: IncomingMessage): boolean => names.test(headers.host ?? "");

/** Whether it comes from a page in a browser, which names its origin, or is meant for another host. */
export const isFromPage = (request: IncomingMessage): boolean =>
  request.headers.origin !== undefined || !isForThisMachine(request);
