import type { ChangeName } from "../changes/all.ts";
import { ContractError } from "../http/response.ts";
import { newKey, type Owner } from "./keys.ts";
import { imagesIn, type RecordChange, removeOrphan } from "./orphans.ts";
import { render } from "./render.ts";
import { base64Of } from "./source.ts";
import { storeImage } from "./store.ts";

interface Halves<Name extends ChangeName> {
  /** Checks the caller, and lists the new image for removal. */
  readonly prepare: Name;
  /** Gives the image to the record, and takes it off the list. */
  readonly set: Name;
}

/**
 * Gives a record a new image, by two changes. Between them the image is decoded and its objects are stored. If this
 * breaks off anywhere, the record has its old or its new image, and every other object is listed.
 */
export const replaceImage =
  <Name extends ChangeName>(owner: Owner, { prepare, set }: Halves<Name>) =>
  async (context: RecordChange<Name> & { body: { image: string } }) => {
    const text = base64Of(context.body.image);
    const key = newKey(owner);
    // A result means that the same request, with the client's key, was made before.
    if ((await context.change(prepare, context.path.id, { key })) !== null) return;
    const rendition = await render(Buffer.from(text, "base64"));
    await storeImage(key, rendition, context.deadline);
    const stored = await swap(context, set, { key, size: rendition.size });
    const { image: current, old_image: old } = imagesIn(stored);
    await removeOrphan(context, current === key ? old : key);
  };

/** Only an error of the contract proves that the record does not have the new image. */
async function swap<Name extends ChangeName>(
  context: RecordChange<Name>,
  set: Name,
  image: { readonly key: string; readonly size: string },
) {
  try {
    return await context.change(set, context.path.id, image);
  } catch (error) {
    if (error instanceof ContractError) await removeOrphan(context, image.key);
    throw error;
  }
}
