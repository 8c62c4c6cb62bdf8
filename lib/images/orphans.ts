import type { ChangeName } from "../changes/all.ts";
import { serializeError } from "../http/log.ts";
import type { ChangeContext } from "../http/serve-change.ts";
import { deleteObjects } from "./store.ts";

/** A change of the record that has the image. */
export type RecordChange<Name extends ChangeName> = ChangeContext<Name> & {
  readonly path: { readonly id: number | null };
};

/** The change has been made, so the client does not wait long for this. */
const timeoutInMilliseconds = 3_000;

/**
 * Deletes the objects of an image that no record has any more. The image is listed for removal: if this fails, the next
 * scheduled run removes it.
 */
export async function removeOrphan(
  { warn, deadline }: Pick<ChangeContext, "warn" | "deadline">,
  key: string | null | undefined,
): Promise<void> {
  if (!key) return;
  try {
    await deleteObjects([key], Math.min(deadline, performance.now() + timeoutInMilliseconds));
  } catch (error) {
    warn({ message: "An image was left for the scheduled removal", key, error: serializeError(error) });
  }
}

/** The keys of the record's new image, and of the one before (image_set, lib/changes/images.sql); null for none. */
export const imagesIn = (
  result: string | null,
): { readonly image?: string | null; readonly old_image?: string | null } => JSON.parse(result ?? "{}");

/**
 * Makes a change that takes a record or its image away, and then deletes the objects of the image. An instance without a
 * file service leaves them to the scheduled removal of one that has it.
 */
export const changeAndRemoveImage =
  <Name extends ChangeName>(name: Name) =>
  async (context: RecordChange<Name>) => {
    const { old_image: old } = imagesIn(await context.change(name, context.path.id));
    if (process.env.IMAGE_BUCKET) await removeOrphan(context, old);
  };
