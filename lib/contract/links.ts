import * as z from "zod/mini";
import { trimmed } from "./names.ts";
import { text } from "./parameters.ts";

const linkLengthMax = 2000;

/**
 * An http or https URL with the bytes that were sent; anything else is invalid, `javascript:` above all (README.md,
 * "Links"). Its length includes escapes.
 */
export const link = z.pipe(
  text(linkLengthMax).check(z.minLength(1)),
  z.transform((value, context) => {
    const url = normalizedLink(trimmed(value));
    if (url !== undefined && url.length <= linkLengthMax) return url;
    context.issues.push({ code: "custom", input: value });
    return z.NEVER;
  }),
);

/** A scheme, or the name of a host without a dot and its port; `example.com:8080` is neither. */
const scheme = /^[a-z][a-z\d+-]*:/i;

/**
 * The URL as RFC 3986, 6.2.2 and 6.2.3, normalises it; links that it does not call equal stay different. Letters beyond
 * ASCII are encoded as in browsers, and escapes are not decoded: those of an older site may be no UTF-8.
 */
function normalizedLink(value: string) {
  const absolute = scheme.test(value) ? value : `https://${value.replace(/^\/\//, "")}`;
  const url = URL.parse(absolute);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username || url.password) return;
  const href = url.href.replace(url.search, () => searchIn(absolute));
  if (brokenEscape.test(href)) return href;
  return href.replaceAll(/%[\da-f]{2}/gi, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return unreserved.test(character) ? character : code.toUpperCase();
  });
}

/** The query of a URL. Those of http and https have apostrophes encoded, which is another query by RFC 3986, 2.2. */
function searchIn(absolute: string): string {
  const [, query = ""] = /^[^?#]*(\?[^#]*)/.exec(absolute) ?? [];
  return new URL(`other:${query}`).search;
}

/** A URL with a broken escape stays whole: `%%34%31` must not become the escape `%41`. */
const brokenEscape = /%(?![\da-f]{2})/i;
const unreserved = /^[\w.~-]$/;
