import { S3Client } from "@aws-sdk/client-s3";
import { readCredentials } from "../local/credentials.ts";
import { transferBucket as localBucket } from "../local/stage/functions.ts";
import { settings } from "../settings/settings.ts";
import { transferBucketOf } from "../settings/transfer-bucket.ts";
import type { Invocation } from "./invoke.ts";
import { stageNamed } from "./stage.ts";

/** The bucket for transfers of a stage, or of the local service whose data are in this directory. */
export async function transferBucket({ stage, data }: Pick<Invocation, "stage" | "data">) {
  const { region, id } = settings.account;
  if (stage !== undefined) {
    const Bucket = transferBucketOf({ name: stageNamed(stage).database }, settings.account);
    // Files do not go to another account.
    return { s3: new S3Client({ region }), bucket: { Bucket, ExpectedBucketOwner: id } };
  }
  const { s3Url, ...credentials } = await readCredentials(data);
  if (s3Url === undefined) throw new Error("The credentials do not say where S3 is: start npm start again");
  return { s3: new S3Client({ region, credentials, endpoint: s3Url }), bucket: { Bucket: localBucket } };
}
