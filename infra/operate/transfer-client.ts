import { join } from "node:path";
import { S3Client } from "@aws-sdk/client-s3";
import { readCredentials } from "../local/credentials.ts";
import { settings } from "../stages.ts";

const defaultDirectory = join(import.meta.dirname, "../../.local");

/**
 * S3 with the buckets for transfers: AWS's, or that of the local service.
 * @param data the directory of the local service's data
 */
export async function transferClient(stage: string | undefined, data = defaultDirectory): Promise<S3Client> {
  const { region } = settings.account;
  if (stage !== undefined) return new S3Client({ region });
  const { s3Url, ...credentials } = await readCredentials(data);
  if (s3Url === undefined) throw new Error(`The credentials in ${data} do not say where S3 is: start npm start again`);
  return new S3Client({ region, credentials, endpoint: s3Url });
}
