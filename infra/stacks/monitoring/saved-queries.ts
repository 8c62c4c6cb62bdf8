interface SavedQuery {
  readonly name: string;
  readonly queryString: string;
  /** The logs that it reads. */
  readonly of: readonly ("access" | "functions")[];
  /** Only for stages where people sign in. */
  readonly isOfSignIn?: true;
}

/** Logs Insights queries, which operators find in a folder with the stage's name. */
export const savedQueries: readonly SavedQuery[] = [
  {
    name: "one-request",
    queryString:
      "fields @timestamp, @message\n| filter requestId = 'PASTE-THE-REQUEST-ID' or invocationId = 'PASTE-THE-REQUEST-ID' or @requestId = 'PASTE-THE-REQUEST-ID'\n| sort @timestamp",
    of: ["access", "functions"],
  },
  {
    name: "errors",
    queryString:
      "fields @timestamp, endpoint, requestId, status, response, error.name, error.message, error.cause.message\n| filter level = 'error'\n| sort @timestamp desc\n| limit 100",
    of: ["functions"],
  },
  {
    name: "slow",
    queryString:
      "filter ispresent(durationInMilliseconds)\n| stats count(*) as requests, pct(durationInMilliseconds, 50) as p50, pct(durationInMilliseconds, 99) as p99, max(durationInMilliseconds) as worst by endpoint\n| sort p99 desc",
    of: ["functions"],
  },
  {
    name: "lists",
    queryString:
      "filter transfer = 'STREAMED'\n| stats count(*) as requests, pct(firstByte, 50) as begins, pct(firstByte, 99) as beginsLate, pct(milliseconds, 99) as endsLate, max(bytes) as longest by route\n| sort beginsLate desc",
    of: ["access"],
  },
  {
    name: "cold-starts",
    queryString:
      "filter @type = 'REPORT' and ispresent(@initDuration)\n| parse @logStream /(?<name>[\\w-]+)\\[/\n| stats count(*) as starts, avg(@initDuration) as milliseconds, max(@initDuration) as worst by name",
    of: ["functions"],
  },
  {
    name: "refused-by-the-gateway",
    queryString:
      "filter errorType != '-'\n| stats count(*) as requests by errorType, status, route\n| sort requests desc",
    of: ["access"],
  },
  {
    name: "sign-ins",
    queryString:
      "fields @timestamp, endpoint, requestId, callerId, status, signIn, reason, error.message\n| filter ispresent(signIn) or (endpoint = 'sign-in-callback' and status = 302)\n| sort @timestamp desc\n| limit 100",
    of: ["functions"],
    isOfSignIn: true,
  },
];
