import { setTimeout as sleep } from "node:timers/promises";
import {
  CloudWatchLogsClient,
  type FilteredLogEvent,
  type FilterLogEventsRequest,
  paginateFilterLogEvents,
} from "@aws-sdk/client-cloudwatch-logs";
import { InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { newCommand, runCommand, UsageError } from "../command/command.ts";
import { functionPathOf } from "../command/event.ts";
import { print } from "../command/print.ts";
import { readable } from "../local/log.ts";
import type { StageSettings } from "../settings/schema.ts";
import { settings } from "../settings/settings.ts";
import { databaseOwner, deployedFunction, functionLog, stageNamed } from "./stage.ts";

function requestId(text: string): string {
  if (/^[\w-]+$/.test(text)) return text;
  throw new InvalidArgumentError("It is no id of a request.");
}

export const command = newCommand("npm run logs")
  .description("Prints what the gateway and the functions of a stage logged.")
  .requiredOption("--stage <name>", "a deployed stage")
  .addOption(
    new Option("--request <id>", "one request, by the header x-amzn-RequestId of its response")
      .conflicts(["function", "level", "follow"])
      .argParser(requestId),
  )
  .option("--function <name>", "one function, such as admin-roles/list or ops/tidy")
  .addOption(
    new Option("--level <level>", "warnings and errors, or errors alone; of the gateway returns from 500").choices([
      "warn",
      "error",
    ] as const),
  )
  .option("--since <duration>", "how far back: 30m, 1h, 7d; default: 1h, of a request 1d")
  .option("--follow", "go on printing what is logged, until Ctrl-C");

type Level = "warn" | "error";

export interface LogsOptions {
  readonly stage: string;
  readonly request?: string | undefined;
  /** The path of a function. */
  readonly path?: string | undefined;
  readonly level?: Level | undefined;
  readonly sinceInMilliseconds: number;
  /** Goes on printing until it is aborted. */
  readonly follow?: { readonly everyInMilliseconds: number; readonly signal?: AbortSignal } | undefined;
  readonly print: (line: string) => void;
}

/** CloudWatch Logs may deliver a line later than others that are newer. */
const lateInMilliseconds = 30_000;

/**
 * Prints what is in the logs of a stage, newest last. To follow it polls, since Live Tail costs a cent a minute, and knows
 * no past. Returns the number of lines.
 */
export async function printLogs({ print, follow, ...options }: LogsOptions): Promise<number> {
  // CloudWatch Logs takes five of these calls a second.
  const client = new CloudWatchLogsClient({ region: settings.account.region, maxAttempts: 10, retryMode: "adaptive" });
  const { request, stage } = options;
  let from = Date.now() - options.sinceInMilliseconds;
  let known = new Set<string | undefined>();
  let count = 0;
  do {
    const lines =
      request === undefined
        ? await read(client, searchesOf(options, from), from)
        : await readRequest(client, stageNamed(stage), request, from);
    for (const line of lines.filter(({ eventId }) => !known.has(eventId))) {
      const shown = readableLine(line, { requestIds: request === undefined });
      if (shown === undefined) continue;
      print(shown);
      count += 1;
    }
    known = new Set(lines.map(({ eventId }) => eventId));
    from = Math.max(from, (lines.at(-1)?.timestamp ?? 0) - lateInMilliseconds);
    if (follow) await sleep(follow.everyInMilliseconds, undefined, { signal: follow.signal }).catch(() => {});
  } while (follow && !follow.signal?.aborted);
  return count;
}

const accessPattern = '{ $.status = "5*" }';

/** What functions log. Regular expressions of filter patterns have neither quotes nor groups: a dot stands for each. */
const patterns: Readonly<Record<Level, string>> = {
  error: "%level...error|Task.timed.out|Runtime.[A-Z]|Uncaught%",
  warn: "%level...warn|level...error|Task.timed.out|Runtime.[A-Z]|Uncaught%",
};

const accessLog = ({ name }: StageSettings) => `/colophon/${name}/access`;

/** What to search in one log. */
type Search = Pick<FilterLogEventsRequest, "logGroupName" | "logStreamNamePrefix" | "filterPattern">;

function searchesOf({ stage: name, path, level }: Omit<LogsOptions, "print">, from: number): Search[] {
  const stage = stageNamed(name);
  const filterPattern = level && patterns[level];
  if (path === undefined) {
    return [
      { logGroupName: accessLog(stage), filterPattern: level && accessPattern },
      { logGroupName: functionLog(stage.name), filterPattern },
    ];
  }
  const { name: functionName, log: logGroupName } = deployedFunction(stage, path);
  return datesSince(from).map((date) => ({
    ...{ logGroupName, filterPattern },
    logStreamNamePrefix: `${date}/${functionName}[`,
  }));
}

const day = 86_400_000;

/** A stream is named after the day on which its environment began, and one of yesterday may still be in use. */
const datesSince = (from: number): string[] =>
  Array.from({ length: Math.floor(Date.now() / day) - Math.floor(from / day) + 2 }, (_, ago) =>
    new Date(Date.now() - ago * day).toISOString().slice(0, "2026-11-23".length).replaceAll("-", "/"),
  );

/** The lines with the id of a request, and those of Lambda about the invocations that served it. */
async function readRequest(client: CloudWatchLogsClient, stage: StageSettings, id: string, from: number) {
  const logs = [accessLog(stage), functionLog(stage.name), functionLog(databaseOwner(stage))];
  const readAbout = (filterPattern: string) => {
    const searches = logs.map((logGroupName) => ({ logGroupName, filterPattern }));
    return read(client, searches, from);
  };
  const found = await readAbout(`"${id}"`);
  const ids = new Set([id, ...found.flatMap((line) => invocationOf(line) ?? [])]);
  return ids.size === 1 ? found : await readAbout([...ids].map((each) => `?"${each}"`).join(" "));
}

/** Oldest first. */
async function read(client: CloudWatchLogsClient, searches: readonly Search[], startTime: number) {
  const lines: FilteredLogEvent[] = [];
  for (const search of searches)
    for await (const { events = [] } of paginateFilterLogEvents({ client }, { startTime, ...search }))
      lines.push(...events);
  return lines.toSorted((one, other) => (one.timestamp ?? 0) - (other.timestamp ?? 0));
}

/** The id of the invocation that a line of a function is about, as Node's runtime, lib/http/log.ts and Lambda write it. */
const invocationOf = ({ message = "" }: FilteredLogEvent): string | undefined =>
  /(?:^\S+Z\t|"invocationId":"|\bRequestId: )([\w-]+)/.exec(message)?.[1];

/** A line as people can read it; undefined if it says nothing. */
function readableLine(line: FilteredLogEvent, options: { readonly requestIds: boolean }): string | undefined {
  const { timestamp = 0, message = "", logStreamName = "" } = line;
  const name = functionOf(logStreamName);
  const head = `${new Date(timestamp).toISOString()} ${name ?? "gateway"}`;
  if (name === undefined) {
    const text = accessText(message);
    return text === message ? `${head} ${message}` : readable(text, { ...options, head });
  }
  if (/^(?:START|END|INIT_START) /.test(message)) return undefined;
  // Node's runtime writes time, id of the invocation and level before what it logs itself, as for an uncaught error.
  const text = message.replace(/^\S+Z\t[\w-]+\t[A-Z]+\t/, "").trimEnd();
  const shown = readable(text, { ...options, head });
  return shown === text ? `${head} ${text.replaceAll("\t", " ")}` : shown;
}

/**
 * A stream of functions is named after day, function, version and environment:
 * `2026/11/23/colophon-prod-session[7]0f3a…`. One of the access log has no such name.
 */
const functionOf = (logStreamName: string): string | undefined =>
  /\/(?:colophon-[a-z0-9]+-)?([\w-]+)\[/.exec(logStreamName)?.[1];

/** A line of the access log (infra/stacks/api/rest-api.ts) with the names that functions use; one that is no JSON as it is. */
function accessText(message: string): string {
  const access = accessLine(message);
  if (!access) return message;
  const { method, route, milliseconds, errorType, ...fields } = access;
  const others = { path: `${method} ${route}`, durationInMilliseconds: milliseconds, gatewayError: errorType };
  return JSON.stringify({ level: "info", ...fields, ...others }, (_, value) => (value === "-" ? undefined : value));
}

function accessLine(message: string): Readonly<Record<string, string | number>> | undefined {
  try {
    return JSON.parse(message);
  } catch {
    return undefined;
  }
}

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: day };

function durationOf(text: string): number {
  const [, number, unit = ""] = /^(\d+)([mhd])$/.exec(text) ?? [];
  if (number === undefined) throw new UsageError(`--since takes a duration such as 30m, 1h or 7d, not ${text}`);
  return Number(number) * (units[unit] ?? 0);
}

if (import.meta.main) {
  await runCommand(
    command.action(async ({ stage, request, function: name, level, since, follow }) => {
      const options = {
        ...{ stage, request, level, print },
        path: name === undefined ? undefined : functionPathOf(name),
        sinceInMilliseconds: durationOf(since ?? (request === undefined ? "1h" : "1d")),
        follow: follow ? { everyInMilliseconds: 2_000 } : undefined,
      };
      if ((await printLogs(options)) === 0) throw new Error("Nothing was logged in this time");
    }),
  );
}
