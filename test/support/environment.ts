import { clientVariables } from "../../infra/aws-local/client-variables.ts";
import { newKey } from "../../infra/aws-local/http/signature.ts";
import { imageBucket, variablesOf } from "../../infra/local/stage/functions.ts";

/** The key by which functions sign requests in this process. */
export const key = newKey();
/** The origin of the admin panel in tests. */
export const panelOrigin = "https://panel.example.com";
export const imageBaseUrl = "https://images.example.com";

/** Sets the environment variables that AWS would set for a function, and the address of the local Data API. */
export function useDatabase(
  database: string,
  dataApiUrl: string,
  allowedOrigins: readonly string[] = [panelOrigin],
): void {
  const stage = { database, allowedOrigins, imageBaseUrl, uploads: false };
  Object.assign(process.env, clientVariables(key, { dataApiUrl }), variablesOf(stage));
}

/** Sets the variables of a stage with uploads. */
export function useBucket(s3Url: string): void {
  Object.assign(process.env, { AWS_ENDPOINT_URL_S3: s3Url, IMAGE_BUCKET: imageBucket });
}
