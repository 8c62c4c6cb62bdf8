import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";

export interface StoredObject {
  /** The headers that it is got back with. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Objects by their keys, each in a file of one folder. Whoever kills the process loses nothing that was stored. */
export type Bucket = Awaited<ReturnType<typeof openBucket>>;

/** Ends the names of objects' files; a folder may contain others. */
const finished = ".object";
/** Ends the names of files that are being written, or were when the process was killed. */
const unfinished = ".unfinished";

/** Opens the bucket of a folder, which is created if it does not exist. */
export async function openBucket(folder: string) {
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(folder)) if (name.endsWith(unfinished)) await rm(join(folder, name));
  // An encoded key has no slash, so no key leads out of the folder.
  const fileOf = (key: string) => join(folder, encodeURIComponent(key) + finished);
  return {
    async put(key: string, { headers, body }: StoredObject): Promise<void> {
      const draft = join(folder, randomUUID() + unfinished);
      // Headers and body are one file, so that they always belong together.
      await write(draft, Buffer.concat([Buffer.from(`${JSON.stringify(headers)}\n`), body]));
      await rename(draft, fileOf(key));
    },
    async get(key: string): Promise<StoredObject | undefined> {
      const bytes = await readFile(fileOf(key)).catch(ignoreMissing);
      if (!bytes) return undefined;
      const headersEnd = bytes.indexOf("\n");
      return { headers: JSON.parse(bytes.toString("utf8", 0, headersEnd)), body: bytes.subarray(headersEnd + 1) };
    },
    delete: (key: string) => rm(fileOf(key), { force: true }),
    async keys(): Promise<string[]> {
      const names = (await readdir(folder)).filter((name) => name.endsWith(finished));
      return names.map((name) => decodeURIComponent(name.slice(0, -finished.length))).sort();
    },
  };
}

/** Writes a file to the disk, not only to the operating system. */
async function write(file: string, bytes: Buffer): Promise<void> {
  await using handle = await open(file, "wx");
  await handle.writeFile(bytes);
  await handle.sync();
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
