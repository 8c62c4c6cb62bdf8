import type { GuardedQuery } from "../database/query.ts";
import { ContractError } from "../http/errors.ts";
import type { Json } from "../http/serve.ts";
import * as images from "../queries/image-updates.ts";
import { discard } from "./discard.ts";
import { newKey, type Owner } from "./keys.ts";
import { render } from "./render.ts";
import { base64Of } from "./source.ts";
import { storeImage } from "./store.ts";

type Run = <Body>(query: GuardedQuery<Body>) => Promise<Json<Body>>;

/**
 * Gives a record a new image. Nothing is decoded before the first statement has let the caller in, and that statement
 * notes the new objects as ones to remove; the second strikes them out as the record begins to refer to them. So
 * wherever this breaks off, either the old or the new image is whole, and no object is forgotten.
 */
export async function replaceImage(run: Run, owner: Owner, id: number | null, image: string): Promise<Json<null>> {
  const text = base64Of(image);
  const key = newKey(owner);
  await run(images.announce(owner, id, key));
  await storeImage(key, await render(Buffer.from(text, "base64")));
  const previous = await swap(run, owner, id, key);
  if (previous !== null) await discard(previous);
  return { text: null };
}

/** The key of the image before. Where the answer is a refusal, and only there, the new image is surely not in use. */
async function swap(run: Run, owner: Owner, id: number | null, key: string): Promise<string | null> {
  try {
    return images.previousKey(await run(images.swap(owner, id, key)));
  } catch (error) {
    if (error instanceof ContractError) await discard(key);
    throw error;
  }
}
