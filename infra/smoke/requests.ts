import { readFileSync } from "node:fs";
import { join } from "node:path";
import { endpointPath, isNavigation, isPublic } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import type { SmokeRequest } from "../../lib/operators/smoke/smoke.ts";

const events = join(import.meta.dirname, "../../events");

/**
 * The requests of a smoke test: the sample events of endpoints that only read. Details that take an edit lock are left
 * out, because they write, and so is signing in, which is the provider's part too.
 * @param whose only public requests, or administrative ones as well
 * @param knownContributor the slug of one who must be there, if the stage's database names one
 */
export const smokeRequests = (whose: "public" | "all", knownContributor?: string): readonly SmokeRequest[] =>
  endpoints
    .filter((each) => each.method === "GET" && !each.takesEditLock && !isNavigation(each))
    .filter((each) => whose === "all" || isPublic(each))
    .map((declaration) => {
      const endpoint = endpointPath(declaration);
      if (knownContributor && endpoint === "contributor/slug")
        return { endpoint, target: `/contributor/slug/${knownContributor}`, mustExist: true };
      const { path, queryStringParameters } = JSON.parse(readFileSync(join(events, `${endpoint}.json`), "utf8"));
      const query = new URLSearchParams(queryStringParameters ?? {}).toString();
      return { endpoint, target: query ? `${path}?${query}` : path };
    });
