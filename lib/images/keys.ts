import { randomUUID } from "node:crypto";

/** Where the images of each kind of record lie in the bucket. */
export const folders = { users: "profiles", contributors: "avatars" } as const;

/** What has an image, named like its table. */
export type Owner = keyof typeof folders;

/** A key that nobody can guess, used once: a new image has a new URL. */
export const newKey = (owner: Owner): string => `${folders[owner]}/${randomUUID()}.webp`;

/** Records keep the key of the full image; the scaled one lies beside it. */
export const scaledKey = (key: string): string => key.replace(/(\.\w+)?$/, "-256$1");
