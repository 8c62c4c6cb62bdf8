import type { Tools } from "../http/serve-change.ts";
import { discard, formerKey } from "./discard.ts";
import type { Owner } from "./keys.ts";

/** Takes a record's image away, and then the objects nothing refers to any more. */
export async function clearImage(tools: Tools, owner: Owner, id: number | null): Promise<void> {
  await discard(tools, formerKey(await tools.change("clear_image", id, { owner })));
}
