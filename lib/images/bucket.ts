import { S3Client } from "@aws-sdk/client-s3";
import { timeouts } from "../aws/retry.ts";

export const client = new S3Client({ maxAttempts: 1, requestHandler: timeouts });

/** The bucket of images. Undefined on a stage without uploads. */
export const Bucket = process.env.IMAGE_BUCKET;
