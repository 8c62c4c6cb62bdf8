import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { imageHeaders } from "../../pages/images.ts";

/** An image of the demo data, by its key: an SVG, drawn for each request, since that takes no time. */
export type Drawing = readonly [key: string, draw: () => string];

export const drawingHeaders = { "Content-Type": "image/svg+xml", "Cache-Control": "public, max-age=86400" };

/**
 * Serves drawings as `pages` of the gateway.
 * @returns whether it has responded
 */
export function drawingPages(drawings: readonly Drawing[]) {
  const drawers = new Map(drawings.map(([key, draw]) => [`/images/${key}`, draw]));
  return async ({ method = "", url = "" }: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const draw = drawers.get(url);
    if (!draw || !["GET", "HEAD"].includes(method)) return false;
    response.writeHead(200, { ...imageHeaders, ...drawingHeaders }).end(method === "GET" ? draw() : undefined);
    return true;
  };
}

/** Derives numbers from the key, so that a drawing is always the same: `pick(index, below)` is from 0 to `below` - 1. */
export function pickFor(key: string): (index: number, below: number) => number {
  const digest = createHash("sha256").update(key).digest();
  return (index, below) => (digest[index % digest.length] ?? 0) % below;
}
