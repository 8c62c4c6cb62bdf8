import * as z from "zod/mini";
import type { Declaration } from "./declare.ts";
import * as responses from "./responses.ts";

const count = (meaning: string) => z.int().check(z.nonnegative(), z.describe(meaning));
const page = {
  max: count("All records that match, whatever the page."),
  from: count("Index of the first record returned."),
  to: count("Index after the last record returned; the offset of the next page."),
};
const withCount = { ...page, count: count("The records returned.") };

/** The schema of this endpoint's response with status 200. */
export function responseSchema({ response: declared }: Declaration): z.ZodMiniType {
  if ("message" in declared) return z.strictObject({ data: z.literal(declared.message), code: z.literal(200) });
  // It is never 200.
  if ("redirect" in declared) return z.never();
  if ("record" in declared) return responses[declared.record];
  const items = z.array(responses[declared.list]);
  if (!declared.field) return items;
  return z.strictObject({ [declared.field]: items, ...(declared.count ? withCount : page) });
}
