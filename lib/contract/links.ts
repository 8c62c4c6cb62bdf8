import normalizeUrl from "normalize-url";
import * as z from "zod/mini";
import { text } from "./parameters.ts";

const linkLengthMax = 2000;

/** An http or https URL, normalised; anything else is invalid, `javascript:` above all. Its length includes escapes. */
export const link = z.pipe(
  text(linkLengthMax).check(z.minLength(1)),
  z.transform((value, context) => {
    try {
      const url = normalizeUrl(value, { defaultProtocol: "https", stripWWW: false, stripAuthentication: true });
      if (/^https?:\/\/[^/]/.test(url) && url.length <= linkLengthMax) return url;
    } catch {
      // not a URL, so it is invalid, too
    }
    context.issues.push({ code: "custom", input: value });
    return z.NEVER;
  }),
);
