/** It has to fit into a cookie. */
const pathLengthMax = 1_500;

/**
 * The path of a page on the panel's origin, from a path or a URL, with query and fragment. Undefined for anything that
 * could lead to another origin.
 */
export function pathOnPanel(to: string, origin: string): string | undefined {
  const isUrl = to.startsWith(origin) && /^(?:[/?#]|$)/.test(to.slice(origin.length));
  if (!isUrl) return normalPathOf(to);
  const path = to.slice(origin.length);
  return normalPathOf(path.startsWith("/") ? path : `/${path}`);
}

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
