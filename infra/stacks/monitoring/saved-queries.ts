import type { StageSettings } from "../../settings/schema.ts";

interface SavedQueries {
  readonly logs: readonly ("access" | "functions")[];
  /** By their names. */
  readonly queries: Readonly<Record<string, string>>;
}

/** Logs Insights queries by the logs that they read, which operators find in a folder with the stage's name. */
export const savedQueries = ({ signIn }: StageSettings): readonly SavedQueries[] => [
  {
    logs: ["access", "functions"],
    queries: {
      "one-request":
        "fields @timestamp, @message\n| filter requestId = 'PASTE-THE-REQUEST-ID' or invocationId = 'PASTE-THE-REQUEST-ID' or @requestId = 'PASTE-THE-REQUEST-ID'\n| sort @timestamp",
    },
  },
  {
    logs: ["functions"],
    queries: {
      errors:
        "fields @timestamp, endpoint, requestId, status, response, error.name, error.message, error.cause.message\n| filter level = 'error'\n| sort @timestamp desc\n| limit 100",
      slow: "filter ispresent(durationInMilliseconds)\n| stats count(*) as requests, pct(durationInMilliseconds, 50) as p50, pct(durationInMilliseconds, 99) as p99, max(durationInMilliseconds) as worst by endpoint\n| sort p99 desc",
      "cold-starts":
        "filter @type = 'REPORT' and ispresent(@initDuration)\n| parse @logStream /(?<name>[\\w-]+)\\[/\n| stats count(*) as starts, avg(@initDuration) as milliseconds, max(@initDuration) as worst by name",
      ...(signIn && {
        "sign-ins":
          "fields @timestamp, endpoint, requestId, callerId, status, signIn, reason, error.message\n| filter ispresent(signIn) or (endpoint = 'sign-in-callback' and status = 302)\n| sort @timestamp desc\n| limit 100",
      }),
    },
  },
  {
    logs: ["access"],
    queries: {
      lists:
        "filter transfer = 'STREAMED'\n| stats count(*) as requests, pct(firstByte, 50) as begins, pct(firstByte, 99) as beginsLate, pct(milliseconds, 99) as endsLate, max(bytes) as longest by route\n| sort beginsLate desc",
      "refused-by-the-gateway":
        "filter errorType != '-'\n| stats count(*) as requests by errorType, status, route\n| sort requests desc",
    },
  },
];
