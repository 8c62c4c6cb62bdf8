import * as z from "zod/mini";
import { execute, integer } from "../../lib/data-api/client.ts";
import { deleteObjects, imagesPerCall } from "../../lib/images/store.ts";
import { type OperatorContext, operatorFunction } from "../../lib/operators/operator-function.ts";
import * as images from "../../lib/queries/images.ts";

/**
 * Removes the listed images that are due. `removed` counts them; `kept` counts those that stay on the list, since they
 * are not due or S3 did not delete them. An image leaves the list after its objects are deleted: a run that breaks off
 * loses nothing, and two runs at once do the same work twice.
 */
export const handler = operatorFunction("ops/remove-images", async (_, tools) => {
  let removed = 0;
  let last = "";
  for (;;) {
    const { result } = await tools.change("claim_images", { after: last, limit: imagesPerCall });
    const keys = z.parse(z.array(z.string()), result);
    if (keys.length > 0) removed += await remove(keys, tools);
    if (keys.length < imagesPerCall) break;
    last = keys.at(-1) ?? "";
  }
  const [count] = await execute(images.count());
  return { removed, kept: count ? integer(count, 0) : 0 };
});

async function remove(keys: readonly string[], { change }: OperatorContext): Promise<number> {
  const failed = new Set(await deleteObjects(keys));
  const { result } = await change("unlist_images", { keys: keys.filter((key) => !failed.has(key)) });
  return Number(result);
}
