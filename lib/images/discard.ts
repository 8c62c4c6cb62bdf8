import { serializeError } from "../http/log.ts";
import type { Tools } from "../http/serve-change.ts";
import { removeImages } from "./store.ts";

/** The request is done but for this, so its visitor is not kept waiting for long. */
const patienceInMilliseconds = 3_000;

/**
 * Removes an image that nothing refers to any more, if there was one. It is listed as one to remove, so nothing is lost
 * when this fails: the next scheduled run does it again.
 */
export async function discard({ warn, deadline }: Tools, key: string | undefined): Promise<void> {
  if (key === undefined) return;
  try {
    await removeImages([key], Math.min(deadline, Date.now() + patienceInMilliseconds));
  } catch (error) {
    warn({ message: "An image was left for the scheduled removal", key, error: serializeError(error) });
  }
}

/** The key of the image that a change made a record give up (lib/changes/images.sql). */
export const formerKey = (answer: string | null): string | undefined => keyIn(answer, "former");

/** The key of the image that a record was given (lib/changes/replace-image.sql). */
export const newKeyIn = (answer: string | null): string | undefined => keyIn(answer, "image");

function keyIn(answer: string | null, field: string): string | undefined {
  const { [field]: key } = JSON.parse(answer ?? "{}");
  return typeof key === "string" ? key : undefined;
}
