import * as z from "zod/mini";
import * as answers from "./answers.ts";
import type { Declaration } from "./declare.ts";

/** What a 200 of this endpoint must look like, to the field. */
export function answerSchema({ answers: given }: Declaration): z.ZodMiniType {
  if ("message" in given) return z.strictObject({ data: z.literal(given.message), code: z.literal(200) });
  if ("record" in given) return answers[given.record];
  const items = z.array(answers[given.list]);
  if (!given.field) return items;
  const count = z.int().check(z.nonnegative());
  return z.strictObject({
    [given.field]: items,
    max: count,
    from: count,
    to: count,
    ...(given.count ? { count } : {}),
  });
}
