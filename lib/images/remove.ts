import type { Tools } from "../http/serve-change.ts";
import type { Owner } from "./keys.ts";
import { formerKeyIn, removeOrphan } from "./orphans.ts";

/** Removes a record's image, and then its objects. */
export async function removeImage(tools: Tools, owner: Owner, id: number | null): Promise<void> {
  await removeOrphan(tools, formerKeyIn(await tools.change("remove_image", id, { owner })));
}
