import * as z from "zod/mini";
import { execute } from "../../lib/database/client.ts";
import { integer, text } from "../../lib/database/read.ts";
import { removedImagesMax, removeImages } from "../../lib/images/store.ts";
import { operate } from "../../lib/operate.ts";
import * as images from "../../lib/queries/image-updates.ts";

/**
 * Removes the noted images whose time has come: `removed` counts them, `kept` those noted still, for whom it has not or
 * whom S3 refused to delete. Objects go before their notes, so a run that breaks off loses nothing, and two at once do
 * the same work twice.
 */
export const handler = operate(z.looseObject({}), async () => {
  let removed = 0;
  let last = "";
  for (;;) {
    const keys = (await execute(images.due(last, removedImagesMax), true)).map((row) => text(row, 0));
    if (keys.length > 0) removed += await remove(keys);
    if (keys.length < removedImagesMax) break;
    last = keys.at(-1) ?? "";
  }
  const [rest] = await execute(images.noted(), true);
  return { removed, kept: rest ? integer(rest, 0) : 0 };
});

async function remove(keys: readonly string[]): Promise<number> {
  const refused = new Set(await removeImages(keys));
  const gone = keys.filter((key) => !refused.has(key));
  return (await execute(images.strike(gone), true)).length;
}
