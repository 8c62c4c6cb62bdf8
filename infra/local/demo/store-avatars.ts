import sql from "sql-template-tag";
import { scaledKey } from "../../../lib/images/keys.ts";
import { type Key, signRequest } from "../../aws-local/http/signature.ts";
import { withConnection } from "../../aws-local/postgres/connection.ts";
import { imageBucket } from "../stage/functions.ts";
import { avatars, drawingHeaders, scaled } from "./drawings.ts";
import { readCatalogue } from "./load.ts";

/**
 * Stores the drawn avatars that contributors have and S3 has not, in both sizes as uploaded ones. So one that is removed is
 * not served any more, and an undo restores it.
 */
export async function storeAvatars(databaseUrl: string, s3Url: string, signingKey: Key): Promise<void> {
  const drawings = new Map(avatars(await readCatalogue()));
  const send = async (method: "HEAD" | "PUT", key: string, body?: string) => {
    const url = new URL(`${s3Url}/${imageBucket}/${key}`);
    const signed = await signRequest("s3", signingKey, url, method, Buffer.from(body ?? ""));
    const { ok, status } = await fetch(url, { method, headers: { ...drawingHeaders, ...signed }, body: body ?? null });
    if (!ok && status !== 404) throw new Error(`S3 returned ${status} to ${method} ${key}`);
    return ok;
  };
  const { rows } = await withConnection(databaseUrl, (client) =>
    client.query<{ image: string }>(sql`select image from contributors where image = any(${[...drawings.keys()]})`),
  );
  for (const { image } of rows) {
    if (await send("HEAD", image)) continue;
    // The full one, for which this looks, comes last.
    const drawing = drawings.get(image)?.() ?? "";
    await send("PUT", scaledKey(image), scaled(drawing));
    await send("PUT", image, drawing);
  }
}
