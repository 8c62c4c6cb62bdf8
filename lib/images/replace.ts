import { ContractError } from "../http/errors.ts";
import type { Tools } from "../http/serve-change.ts";
import { discard, formerKey, newKeyIn } from "./discard.ts";
import { newKey, type Owner } from "./keys.ts";
import { render } from "./render.ts";
import { base64Of } from "./source.ts";
import { storeImage } from "./store.ts";

/**
 * Gives a record a new image. Nothing is decoded before the first statement has let the caller in, and that statement
 * lists the new objects as ones to remove; the second takes them off the list as the record begins to refer to them. So
 * wherever this breaks off, either the old or the new image is whole, and no object is forgotten.
 */
export async function replaceImage(tools: Tools, owner: Owner, id: number | null, image: string): Promise<void> {
  const text = base64Of(image);
  const key = newKey(owner);
  // An answer says that the client's key has been used: the same request was served before.
  if ((await tools.change("announce_image", id, { owner, key })) !== null) return;
  await storeImage(key, await render(Buffer.from(text, "base64")), tools.deadline);
  const answer = await swap(tools, owner, id, key);
  await discard(tools, newKeyIn(answer) === key ? formerKey(answer) : key);
}

/** Where the answer is a refusal, and only there, the new image is surely not in use. */
async function swap(tools: Tools, owner: Owner, id: number | null, key: string): Promise<string | null> {
  try {
    return await tools.change("replace_image", id, { owner, key });
  } catch (error) {
    if (error instanceof ContractError) await discard(tools, key);
    throw error;
  }
}
