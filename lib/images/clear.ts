import type { GuardedQuery } from "../database/query.ts";
import type { Json } from "../http/serve.ts";
import * as images from "../queries/image-updates.ts";
import { discard } from "./discard.ts";
import type { Owner } from "./keys.ts";

type Run = <Body>(query: GuardedQuery<Body>) => Promise<Json<Body>>;

/** Takes a record's image away, and then the objects nothing refers to any more. */
export async function clearImage(run: Run, owner: Owner, id: number | null): Promise<Json<null>> {
  const previous = images.previousKey(await run(images.clear(owner, id)));
  if (previous !== null) await discard(previous);
  return { text: null };
}
