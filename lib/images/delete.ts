import type { ChangeContext } from "../http/serve-change.ts";
import { formerKeyIn, removeOrphan } from "./orphans.ts";

/** Deletes a record, and then the objects of its image if this instance has a file service. */
export async function deleteWithImage(
  context: ChangeContext,
  name: "delete_contributor" | "delete_user",
  id: number | null,
): Promise<void> {
  const former = formerKeyIn(await context.change(name, id));
  if (process.env.IMAGE_BUCKET) await removeOrphan(context, former);
}
