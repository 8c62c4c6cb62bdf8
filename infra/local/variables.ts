import { clusterArn, region } from "../aws-local/arns.ts";
import type { Key } from "../aws-local/http/signature.ts";
import { secretVariables } from "../build/database-role.ts";
import { imageBucket } from "./image-bucket.ts";
import { secretArns } from "./secrets.ts";

export interface Variables {
  readonly database: string;
  readonly dataApiUrl: string;
  readonly key: Key;
  readonly allowedOrigins: readonly string[];
  readonly imageBaseUrl: string;
}

/** Sets the environment variables that functions have on AWS, and the endpoint of the local Data API for the SDK. */
export function setVariables({ database, dataApiUrl, key, allowedOrigins, imageBaseUrl }: Variables): void {
  Object.assign(process.env, {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: key.accessKeyId,
    AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
    AWS_ENDPOINT_URL_RDS_DATA: dataApiUrl,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: dataApiUrl,
    DATABASE_CLUSTER_ARN: clusterArn,
    // Each function gets the secret of its own role instead (functions.ts).
    DATABASE_SECRET_ARN: secretArns.master,
    ...secretVariables(secretArns),
    DATABASE_NAME: database,
    ALLOWED_ORIGINS: allowedOrigins.join(),
    IMAGE_BASE_URL: imageBaseUrl,
  });
}

/** Sets the variables of a stage with uploads. */
export function setBucketVariables(s3Url: string): void {
  Object.assign(process.env, { AWS_ENDPOINT_URL_S3: s3Url, IMAGE_BUCKET: imageBucket });
}
