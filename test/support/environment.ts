import { secretVariables } from "../../infra/local/data-api/secrets.ts";
import { newKey } from "../../infra/local/http/signature.ts";

/** What functions sign with in this process. */
export const key = newKey();
/** The origin of the admin panel in tests. */
export const panelOrigin = "https://panel.example.com";
export const imageBaseUrl = "https://images.example.com";

/** Sets what AWS would set for a function, and points the SDK at the local Data API. */
export function useDatabase(name: string, dataApiUrl: string, allowedOrigins: readonly string[] = [panelOrigin]): void {
  Object.assign(process.env, {
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: key.accessKeyId,
    AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
    AWS_ENDPOINT_URL_RDS_DATA: dataApiUrl,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: dataApiUrl,
    DATABASE_CLUSTER_ARN: "arn:aws:rds:eu-central-1:123456789012:cluster:colophon",
    ...secretVariables,
    DATABASE_NAME: name,
    ALLOWED_ORIGINS: allowedOrigins.join(),
    IMAGE_BASE_URL: imageBaseUrl,
  });
}
