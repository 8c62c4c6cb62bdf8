import { readFileSync } from "node:fs";
import { join } from "node:path";
import { stem } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import type { SmokeRequest } from "../../lib/operators/smoke.ts";

const events = join(import.meta.dirname, "../../events");

/**
 * What a smoke test asks: the sample events of endpoints that only show something. Details that take an edit lock do
 * more than that.
 * @param whose what everybody may ask, or that of the administration as well
 */
export const smokeRequests = (whose: "public" | "all"): readonly SmokeRequest[] =>
  endpoints
    .filter(({ method, locks, permission }) => method === "GET" && !locks && (whose === "all" || !permission))
    .map((declaration) => {
      const { path, queryStringParameters } = JSON.parse(
        readFileSync(join(events, `${stem(declaration)}.json`), "utf8"),
      );
      const query = new URLSearchParams(queryStringParameters ?? {}).toString();
      return { endpoint: stem(declaration), target: query ? `${path}?${query}` : path };
    });
