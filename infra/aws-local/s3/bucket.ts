import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

export type ObjectHeaders = Readonly<Record<string, string>>;

export interface Version {
  readonly id: string;
  /** Whether it says that the object is deleted, and has no body. */
  readonly isDeleteMarker: boolean;
}

/** An upload in parts. */
export interface Upload {
  readonly key: string;
  readonly headers: ObjectHeaders;
  /** By their numbers. */
  readonly parts: Map<number, Part>;
}

export interface Part {
  readonly file: string;
  readonly etag: string;
  readonly size: number;
}

/**
 * Objects by their keys, in the files of one folder, which only the user of this process can read. What is replaced or
 * deleted stays as a version. A killed process loses nothing that was stored.
 */
export type Bucket = Awaited<ReturnType<typeof openBucket>>;

/** Ids grow with time. */
export const isVersionId = (id: string): boolean => /^\d{16}$/.test(id);

/** Ends the name of the folder of an object's versions; the bucket's folder may contain others. */
const versionsFolder = ".versions";
/** End the names of a version's file, and of a delete marker's. */
const finished = ".object";
const marker = ".marker";
/** Ends the names of files that are being written, or were when the process was killed. */
const unfinished = ".unfinished";

/** Opens the bucket of a folder, which is created if it does not exist. Parts of unfinished uploads are dropped. */
export async function openBucket(folder: string) {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) if (name.endsWith(unfinished)) await rm(join(folder, name));
  // An encoded key has no slash, so no key leads out of the folder.
  const folderOf = (key: string) => join(folder, encodeURIComponent(key) + versionsFolder);
  const fileOf = (key: string, { id, isDeleteMarker }: Version) =>
    join(folderOf(key), id + (isDeleteMarker ? marker : finished));

  /** Of an object, the newest first. */
  const versionsOf = async (key: string): Promise<Version[]> => {
    const names = (await readdir(folderOf(key)).catch(ignoreMissing)) ?? [];
    const versions = names.map((name) => ({ id: name.replace(/\..*/, ""), isDeleteMarker: name.endsWith(marker) }));
    return versions.sort((one, other) => Number(other.id) - Number(one.id));
  };

  let lastId = 0;
  const store = async (key: string, isDeleteMarker: boolean, draft: string): Promise<Version> => {
    await mkdir(folderOf(key), { recursive: true, mode: 0o700 });
    lastId = Math.max(lastId + 1, Date.now() * 1_000);
    const version = { id: `${lastId}`, isDeleteMarker };
    await rename(draft, fileOf(key, version));
    return version;
  };

  /** Writes to a file that is no object yet. Headers and body are one file, so that they always belong together. */
  const writeDraft = async (headers: ObjectHeaders, body: Buffer | AsyncIterable<Buffer>): Promise<string> => {
    const draft = join(folder, randomUUID() + unfinished);
    await using handle = await open(draft, "wx", 0o600);
    await handle.writeFile(`${JSON.stringify(headers)}\n`);
    await handle.writeFile(body);
    // To the disk, not only to the operating system.
    await handle.sync();
    return draft;
  };

  return {
    versionsOf,
    writeDraft,
    openDraft: openFile,
    uploads: new Map<string, Upload>(),
    async put(key: string, headers: ObjectHeaders, body: Buffer | AsyncIterable<Buffer>): Promise<Version> {
      return await store(key, false, await writeDraft(headers, body));
    },
    /** Undefined if it has been deleted meanwhile. */
    open: (key: string, version: Version) => openFile(fileOf(key, version)),
    /** Deletes an object. @returns the delete marker */
    async delete(key: string): Promise<Version> {
      return await store(key, true, await writeDraft({ "last-modified": new Date().toUTCString() }, Buffer.alloc(0)));
    },
    deleteVersion: (key: string, version: Version) => rm(fileOf(key, version), { force: true }),
    /** The keys of all objects that have a version, sorted. */
    async keys(): Promise<string[]> {
      const names = (await readdir(folder)).filter((name) => name.endsWith(versionsFolder));
      return names.map((name) => decodeURIComponent(name.slice(0, -versionsFolder.length))).sort();
    },
  };
}

const headersBytesMax = 65_536;

async function openFile(file: string) {
  const handle = await open(file).catch(ignoreMissing);
  if (!handle) return undefined;
  const read = async (start: number, end: number) => {
    const bytes = Buffer.alloc(end - start);
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
    return bytes.subarray(0, bytesRead);
  };
  const head = await read(0, headersBytesMax);
  const bodyStart = head.indexOf("\n") + 1;
  return {
    /** The headers that it is got back with. */
    headers: JSON.parse(head.toString("utf8", 0, bodyStart)) as ObjectHeaders,
    size: (await handle.stat()).size - bodyStart,
    read: (start: number, end: number) => read(bodyStart + start, bodyStart + end),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
