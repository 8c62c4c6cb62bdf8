import { join } from "node:path";

/** Where the OpenAPI document is kept. */
export const documentFile = join(import.meta.dirname, "../../../lib/client/openapi.json");

/** Where `npm start` runs the service by default: the server in the document, and in the guide's examples. */
export const localServer = "http://localhost:3000";
