import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Key } from "../aws-local/http/signature.ts";

/** The directory of all data, unless a flag names another one. */
export const localDirectory = join(import.meta.dirname, "../../.local");

const fileIn = (directory: string) => join(directory, "credentials");

/**
 * Writes the key to a file that only the current user can read, in the format of the AWS CLI and every SDK. These
 * ignore the address of S3, which is for commands of this service.
 */
export async function writeCredentials(directory: string, key: Key, s3Url?: string): Promise<void> {
  const s3 = s3Url === undefined ? "" : `s3_url = ${s3Url}\n`;
  const { accessKeyId, secretAccessKey } = key;
  const text = `[default]\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secretAccessKey}\n${s3}`;
  // A file that is there already would keep its mode.
  await rm(fileIn(directory), { force: true });
  await writeFile(fileIn(directory), text, { mode: 0o600, flag: "wx" });
}

/** The key of the service that runs over a directory, and where its S3 is. */
export async function readCredentials(
  directory = localDirectory,
): Promise<Key & { readonly s3Url: string | undefined }> {
  const text = await readFile(fileIn(directory), "utf8").catch((cause) => {
    throw new Error(`There are no credentials in ${directory}: is npm start running?`, { cause });
  });
  const valueFor = (name: string) => new RegExp(`^${name} = (\\S+)$`, "m").exec(text)?.[1];
  const [accessKeyId = "", secretAccessKey = ""] = ["aws_access_key_id", "aws_secret_access_key"].map(valueFor);
  return { accessKeyId, secretAccessKey, s3Url: valueFor("s3_url") };
}
