import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { Bucket, restoreObjects } from "../../images/store.ts";
import type { OperatorContext } from "../operator-function.ts";

/**
 * Restores the images that changes have taken from records, before the changes are undone. They are listed for removal
 * in an hour, so those that no record gets are removed again.
 * @returns the keys of those whose objects are there; none on a stage without uploads
 */
export async function restoreFormerImages(changes: readonly number[], { change }: Pick<OperatorContext, "change">) {
  if (!Bucket) return [];
  const { result } = await change("list_former_images", { changes });
  const { keys, seconds } = resultSchema.parse(result);
  await sleep(seconds * 1_000);
  const restored: string[] = [];
  for (const key of keys) if ((await restoreObjects(key)) !== "deleted") restored.push(key);
  return restored;
}

const resultSchema = z.object({ keys: z.array(z.string()), seconds: z.number() });
