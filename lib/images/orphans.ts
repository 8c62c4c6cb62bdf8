import { serializeError } from "../http/log.ts";
import type { ChangeContext } from "../http/serve-change.ts";
import { deleteObjects } from "./store.ts";

/** The change has been made, so the client does not wait long for this. */
const timeoutInMilliseconds = 3_000;

/**
 * Deletes the objects of an image that no record has any more. The image is listed for removal: if this fails, the next
 * scheduled run removes it.
 */
export async function removeOrphan({ warn, deadline }: ChangeContext, key: string | undefined): Promise<void> {
  if (key === undefined) return;
  try {
    await deleteObjects([key], Math.min(deadline, performance.now() + timeoutInMilliseconds));
  } catch (error) {
    warn({ message: "An image was left for the scheduled removal", key, error: serializeError(error) });
  }
}

/** The key of the image that the record had before the change (lib/changes/images.sql). */
export const formerKeyIn = (result: string | null): string | undefined => keyIn(result, "former");

/** The key of the record's new image (lib/changes/replace-image.sql). */
export const newKeyIn = (result: string | null): string | undefined => keyIn(result, "image");

function keyIn(result: string | null, field: string): string | undefined {
  const { [field]: key } = JSON.parse(result ?? "{}");
  return typeof key === "string" ? key : undefined;
}
