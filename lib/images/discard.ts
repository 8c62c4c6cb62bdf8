import { described, log } from "../http/log.ts";
import { removeImages } from "./store.ts";

/**
 * Removes an image that nothing refers to any more. It is noted as one to remove, so nothing is lost when this fails:
 * the next scheduled run does it again.
 */
export async function discard(key: string): Promise<void> {
  try {
    await removeImages([key]);
  } catch (error) {
    log("warn", { message: "An image was left for the scheduled removal", key, error: described(error) });
  }
}
