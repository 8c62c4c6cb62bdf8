import * as z from "zod/mini";
import { execute } from "../../lib/database/client.ts";
import { integer, text } from "../../lib/database/read.ts";
import { removedImagesMax, removeImages } from "../../lib/images/store.ts";
import { operate, type Tools } from "../../lib/operators/operator-function.ts";
import * as images from "../../lib/queries/fragments/images.ts";

/**
 * Removes the images listed for it whose time has come: `removed` counts them, `kept` those listed still, for whom it
 * has not or whom S3 refused to delete. Objects go before they are forgotten, so a run that breaks off loses nothing,
 * and two at once do the same work twice.
 */
export const handler = operate("ops/remove-images", z.looseObject({}), async (_, tools) => {
  let removed = 0;
  let last = "";
  for (;;) {
    const keys = (await execute(images.due(last, removedImagesMax))).map((row) => text(row, 0));
    if (keys.length > 0) removed += await remove(keys, tools);
    if (keys.length < removedImagesMax) break;
    last = keys.at(-1) ?? "";
  }
  const [rest] = await execute(images.listed());
  return { removed, kept: rest ? integer(rest, 0) : 0 };
});

async function remove(keys: readonly string[], { change }: Tools): Promise<number> {
  const refused = new Set(await removeImages(keys));
  const { answer } = await change("forget_images", { keys: keys.filter((key) => !refused.has(key)) });
  return Number(answer);
}
