import type { ChangeContext } from "../http/serve-change.ts";
import { formerKeyIn, removeOrphan } from "./orphans.ts";

/**
 * Makes a change that takes a record or its image away, and then deletes the objects of the image. An instance without a
 * file service leaves them to the scheduled removal of one that has it.
 */
export async function changeAndRemoveImage(
  context: ChangeContext,
  ...change: Parameters<ChangeContext["change"]>
): Promise<void> {
  const former = formerKeyIn(await context.change(...change));
  if (process.env.IMAGE_BUCKET) await removeOrphan(context, former);
}
