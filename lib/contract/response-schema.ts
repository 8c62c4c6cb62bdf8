import * as z from "zod/mini";
import type { Declaration } from "./declare.ts";
import * as responses from "./responses.ts";

/** The schema of this endpoint's answer with status 200. */
export function responseSchema({ response: declared }: Declaration): z.ZodMiniType {
  if ("message" in declared) return z.strictObject({ data: z.literal(declared.message), code: z.literal(200) });
  // Nothing answers 200 there.
  if ("redirect" in declared) return z.never();
  if ("record" in declared) return responses[declared.record];
  const items = z.array(responses[declared.list]);
  if (!declared.field) return items;
  const count = z.int().check(z.nonnegative());
  return z.strictObject({
    [declared.field]: items,
    max: count,
    from: count,
    to: count,
    ...(declared.count ? { count } : {}),
  });
}
