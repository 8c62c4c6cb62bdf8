import type { ChangeContext } from "../http/serve-change.ts";
import type { Owner } from "./keys.ts";
import { formerKeyIn, removeOrphan } from "./orphans.ts";

/** Removes a record's image, and then its objects. */
export async function removeImage(context: ChangeContext, owner: Owner, id: number | null): Promise<void> {
  await removeOrphan(context, formerKeyIn(await context.change("remove_image", id, { owner })));
}
