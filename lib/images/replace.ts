import { ContractError } from "../http/response.ts";
import { newKey, type Owner } from "./keys.ts";
import { imagesIn, type RecordChange, removeOrphan } from "./orphans.ts";
import { render } from "./render.ts";
import { base64Of } from "./source.ts";
import { storeImage } from "./store.ts";

/**
 * Gives a record a new image. The first statement checks the caller and lists the new image for removal. Then the image
 * is decoded and its objects are stored. The second statement gives it to the record and takes it off the list. If this
 * breaks off anywhere, the record has its old or its new image, and every other object is listed.
 */
export const replaceImage = (owner: Owner) => async (context: RecordChange & { body: { image: string } }) => {
  const text = base64Of(context.body.image);
  const key = newKey(owner);
  // A result means that the same request, with the client's key, was made before.
  if ((await context.change("prepare_image", context.path.id, { key })) !== null) return;
  await storeImage(key, await render(Buffer.from(text, "base64")), context.deadline);
  const { image: current, former } = imagesIn(await swap(context, key));
  await removeOrphan(context, current === key ? former : key);
};

/** Only an error of the contract proves that the record does not have the new image. */
async function swap(context: RecordChange, key: string): Promise<string | null> {
  try {
    return await context.change("set_image", context.path.id, { key });
  } catch (error) {
    if (error instanceof ContractError) await removeOrphan(context, key);
    throw error;
  }
}
