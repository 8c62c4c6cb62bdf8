import { json } from "node:stream/consumers";
import type { FilteredLogEvent, FilterLogEventsRequest } from "@aws-sdk/client-cloudwatch-logs";
import type { Api } from "./aws-apis.ts";

/**
 * The part of CloudWatch Logs that searches, as an HTTP handler for the real SDK. Pages may be empty although others
 * follow (CloudWatch Logs API Reference, "FilterLogEvents").
 */
export function makeCloudWatchLogs() {
  const events = new Map<string, FilteredLogEvent[]>();
  const requests: FilterLogEventsRequest[] = [];
  const filter = (request: FilterLogEventsRequest): object => {
    const { logGroupName = "", startTime = 0, logStreamNamePrefix = "", filterPattern = "", nextToken } = request;
    const all = events.get(logGroupName);
    if (!all) return { __type: "ResourceNotFoundException", message: "The specified log group does not exist." };
    if (nextToken === undefined) return { events: [], nextToken: "0" };
    const found = all.filter(
      ({ timestamp = 0, logStreamName = "", message = "" }) =>
        timestamp >= startTime && logStreamName.startsWith(logStreamNamePrefix) && fits(filterPattern, message),
    );
    const next = Number(nextToken) + 2;
    const rest = next < found.length ? { nextToken: `${next}` } : {};
    return { events: found.slice(Number(nextToken), next), ...rest };
  };
  const result: Api = async (request, response) => {
    if (request.headers["x-amz-target"] !== "Logs_20140328.FilterLogEvents") return false;
    const input = (await json(request)) as FilterLogEventsRequest;
    if (input.nextToken === undefined) requests.push(input);
    const body = filter(input);
    response.writeHead("__type" in body ? 400 : 200, { "Content-Type": "application/x-amz-json-1.1" });
    response.end(JSON.stringify(body));
    return true;
  };
  return {
    /** By log group. */
    events,
    /** All searches, oldest first. */
    requests,
    result,
  };
}

/** "Filter pattern syntax": a phrase, one of several phrases, a regular expression, or the beginning of a field of JSON. */
function fits(pattern: string, message: string): boolean {
  const [, expression] = /^%([\w./|[\]-]+)%$/.exec(pattern) ?? [];
  if (expression !== undefined) return new RegExp(expression).test(message);
  const [, field = "", start] = /^\{ \$\.(\w+) = "(\w*)\*" \}$/.exec(pattern) ?? [];
  if (start !== undefined) return `${JSON.parse(message)[field]}`.startsWith(start);
  if (!/^(?:"[\w-]+"|\?"[\w-]+"( \?"[\w-]+")*|)$/.test(pattern)) throw new Error(`Unknown pattern ${pattern}`);
  return pattern.split(" ").some((each) => message.includes(each.replace(/^\??"|"$/g, "").replaceAll('"', "")));
}
