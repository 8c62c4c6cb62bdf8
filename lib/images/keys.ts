import { randomUUID } from "node:crypto";

/** The folder in the bucket for each kind of record. */
export const folders = { users: "profiles", contributors: "avatars" } as const;

/** A kind of record that has an image, by the name of its table. */
export type Owner = keyof typeof folders;

/** A random key, which is never used again: a new image has a new URL. */
export const newKey = (owner: Owner): string => `${folders[owner]}/${randomUUID()}.webp`;

/** The key of the scaled image; a record has the key of the full one. */
export const scaledKey = (key: string): string => key.replace(/(\.\w+)?$/, "-256$1");
