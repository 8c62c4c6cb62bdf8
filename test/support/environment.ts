import { newKey } from "../../infra/aws-local/http/signature.ts";
import { setVariables } from "../../infra/local/variables.ts";

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
  setVariables({ database, dataApiUrl, key, allowedOrigins, imageBaseUrl });
}
