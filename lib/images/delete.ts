import type { Tools } from "../http/serve-change.ts";
import { discard, formerKey } from "./discard.ts";

/** Deletes a record, and then the objects of its image where this instance has a file service. */
export async function deleteWithImage(
  tools: Tools,
  name: "delete_contributor" | "delete_user",
  id: number | null,
): Promise<void> {
  const former = formerKey(await tools.change(name, id));
  if (process.env.IMAGE_BUCKET) await discard(tools, former);
}
