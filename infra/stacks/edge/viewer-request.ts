import { wholeSegment } from "../../../lib/contract/declare.ts";
import type { PublicRead } from "../../api/public-reads.ts";
import { pageLimit } from "../../api/whole-lists.ts";

/**
 * The code of a CloudFront function for requests of public reads (JavaScript runtime 2.0). `Origin` is in the cache key,
 * since panels get CORS headers with credentials. All other origins, and requests without one, share one value, so
 * visitors have one cached response however many sites they come from. API Gateway's own errors repeat the value, and
 * `*` allows every page to read them. Of the query only the declared parameters are left, in one order, since the whole
 * query is in the cache key: a cache policy names ten parameters at most.
 * @param hasPages whether requests for whole lists go to functions of their own
 */
export const viewerRequest = (
  allowedOrigins: readonly string[],
  { parameters, hasPages }: Pick<PublicRead, "parameters" | "hasPages">,
): string => `function handler(event) {
  var request = event.request;
  var query = {};
  ${JSON.stringify(parameters)}.forEach(function (name) {
    if (request.querystring[name]) query[name] = request.querystring[name];
  });
  request.querystring = query;
  var origin = request.headers.origin;
  if (!origin || ${JSON.stringify(allowedOrigins)}.indexOf(origin.value) < 0) request.headers.origin = { value: "*" };
${hasPages ? toWholeLists : ""}  return request;
}
`;

const toWholeLists = `  var limit = request.querystring.limit;
  var isPage = limit && !limit.multiValue && /^${pageLimit}$/.test(limit.value);
  if (!isPage && (request.method === "GET" || request.method === "HEAD")) request.uri = "${wholeSegment}" + request.uri;
`;
