import { join } from "node:path";

/** Where the OpenAPI document is kept. */
export const documentFile = join(import.meta.dirname, "../../../lib/client/openapi.json");
