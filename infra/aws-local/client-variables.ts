import type { Key } from "./http/signature.ts";
import { region } from "./secrets-manager/arns.ts";

/**
 * The environment variables by which the SDK and every tool of AWS find the services of this machine. Secrets Manager is
 * where the Data API is.
 */
export const clientVariables = (
  key: Key,
  { dataApiUrl, s3Url }: { dataApiUrl: string; s3Url?: string | undefined },
): Readonly<Record<string, string>> => ({
  AWS_REGION: region,
  AWS_ACCESS_KEY_ID: key.accessKeyId,
  AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
  AWS_ENDPOINT_URL_RDS_DATA: dataApiUrl,
  AWS_ENDPOINT_URL_SECRETS_MANAGER: dataApiUrl,
  ...(s3Url === undefined ? {} : { AWS_ENDPOINT_URL_S3: s3Url }),
});
