import * as z from "zod/mini";
import { invalid } from "./errors.ts";

/** It has to fit into a cookie. */
const pathLengthMax = 1_500;

/** A page of the panel: a path on its origin, with query and fragment, which leads to no other origin. */
export const panelPath = z.string().check(z.refine((value) => normalPathOf(value) !== undefined, invalid));

/**
 * The path as browsers would send it. Undefined for what is no path on the same origin, or what another program could
 * take for an address: two slashes, a backslash for one of them, encoded ones, control characters.
 */
export function normalPathOf(value: string): string | undefined {
  if (!/^\/[^\p{C}\p{Z}\\]*$/u.test(value)) return undefined;
  const origin = "https://panel.invalid";
  const url = URL.parse(value, origin);
  if (url?.origin !== origin || /^\/(?:\/|%2f|%5c)/i.test(url.pathname)) return undefined;
  const path = url.href.slice(origin.length);
  return path.length <= pathLengthMax ? path : undefined;
}
