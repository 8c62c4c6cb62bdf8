import { stat } from "node:fs/promises";
import { join } from "node:path";

/** The bucket of images on this machine. */
export const imageBucket = "images";

/** Whether the S3 over a directory has an image; its metadata are the last of an object's files to be written. */
export const hasImage = (directory: string, key: string): Promise<boolean> =>
  stat(join(directory, imageBucket, `${key}._S3rver_metadata.json`)).then(Boolean, () => false);
