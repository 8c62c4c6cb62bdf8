import { setTimeout as sleep } from "node:timers/promises";
import { CloudWatchLogsClient, paginateFilterLogEvents } from "@aws-sdk/client-cloudwatch-logs";
import { runCommand, UsageError } from "../command/command.ts";
import { functionPathOf } from "../command/event.ts";
import { print } from "../command/print.ts";
import type { StageSettings } from "../settings/schema.ts";
import { settings } from "../stages.ts";
import { invocationOf, type LogLine, readableLine } from "./log-lines.ts";
import { databaseOwner, deployedFunction, functionLog, stageNamed } from "./stage.ts";

const usage =
  "npm run logs -- --stage NAME --request ID [--since 1d]\n" +
  "npm run logs -- --stage NAME [--function NAME] [--level warn|error] [--since 1h] [--follow]\n" +
  "  --request   one request, by the header x-amzn-RequestId of its response: all that gateway and functions logged\n" +
  "  --function  one function, such as admin-roles/list or ops/tidy\n" +
  "  --level     warnings and errors, or errors alone; of the gateway returns from 500\n" +
  "  --since     how far back: 30m, 1h, 7d\n" +
  "  --follow    goes on printing what is logged, until Ctrl-C";

type Level = "warn" | "error";

export interface LogsOptions {
  readonly stage: string;
  readonly request?: string | undefined;
  /** The path of a function. */
  readonly path?: string | undefined;
  readonly level?: Level | undefined;
  readonly sinceInMilliseconds: number;
  readonly print: (line: string) => void;
}

/** CloudWatch Logs takes five of these calls a second. */
const newClient = () =>
  new CloudWatchLogsClient({ region: settings.account.region, maxAttempts: 10, retryMode: "adaptive" });

/** Prints what is in the logs of a stage, newest last. Returns the number of lines. */
export async function printLogs({ print, ...options }: LogsOptions): Promise<number> {
  const from = Date.now() - options.sinceInMilliseconds;
  const { request } = options;
  const lines =
    request === undefined
      ? await read(newClient(), searchesOf(options, from), from)
      : await readRequest(newClient(), stageNamed(options.stage), request, from);
  const shown = readableLines(lines, { requestIds: request === undefined });
  for (const each of shown) print(each);
  return shown.length;
}

export interface FollowOptions extends LogsOptions {
  readonly intervalInMilliseconds?: number;
  readonly signal?: AbortSignal;
}

/** CloudWatch Logs may deliver a line later than others that are newer. */
const lateInMilliseconds = 30_000;

/** Prints what is logged until it is aborted. It polls, since Live Tail costs a cent a minute, and knows no past. */
export async function followLogs({ intervalInMilliseconds = 2_000, signal, ...options }: FollowOptions): Promise<void> {
  const client = newClient();
  let from = Date.now() - options.sinceInMilliseconds;
  let printed = new Set<string | undefined>();
  while (!signal?.aborted) {
    const lines = await read(client, searchesOf(options, from), from);
    const added = lines.filter(({ eventId }) => !printed.has(eventId));
    for (const each of readableLines(added, { requestIds: true })) options.print(each);
    printed = new Set(lines.map(({ eventId }) => eventId));
    from = Math.max(from, (lines.at(-1)?.timestamp ?? 0) - lateInMilliseconds);
    await sleep(intervalInMilliseconds, undefined, signal && { signal }).catch(() => {});
  }
}

const readableLines = (lines: readonly LogLine[], options: { readonly requestIds: boolean }): string[] =>
  lines.flatMap((line) => readableLine(line, options) ?? []);

/** What to search in one log. */
interface Search {
  readonly log: string;
  readonly isAccess: boolean;
  readonly pattern?: string | undefined;
  /** Of the names of streams. */
  readonly prefix?: string;
}

const accessPattern = '{ $.status = "5*" }';

/** What functions log. Regular expressions of filter patterns have neither quotes nor groups: a dot stands for each. */
const patterns: Readonly<Record<Level, string>> = {
  error: "%level...error|Task.timed.out|Runtime.[A-Z]|Uncaught%",
  warn: "%level...warn|level...error|Task.timed.out|Runtime.[A-Z]|Uncaught%",
};

const accessLog = ({ name }: StageSettings) => `/colophon/${name}/access`;

function searchesOf({ stage: name, path, level }: Omit<LogsOptions, "print">, from: number): Search[] {
  const stage = stageNamed(name);
  const pattern = level && patterns[level];
  if (path === undefined) {
    return [
      { log: accessLog(stage), isAccess: true, pattern: level && accessPattern },
      { log: functionLog(stage.name), isAccess: false, pattern },
    ];
  }
  const { name: functionName, log } = deployedFunction(stage, path);
  return datesSince(from).map((date) => ({ log, isAccess: false, pattern, prefix: `${date}/${functionName}[` }));
}

const day = 86_400_000;

/** A stream is named after the day on which its environment began, and one of yesterday may still be in use. */
const datesSince = (from: number): string[] =>
  Array.from({ length: Math.floor(Date.now() / day) - Math.floor(from / day) + 2 }, (_, ago) =>
    new Date(Date.now() - ago * day).toISOString().slice(0, "2026-11-23".length).replaceAll("-", "/"),
  );

/** The lines with the id of a request, and those of Lambda about the invocations that served it. */
async function readRequest(client: CloudWatchLogsClient, stage: StageSettings, id: string, from: number) {
  const functions = [functionLog(stage.name), functionLog(databaseOwner(stage))];
  const about = (pattern: string) => functions.map((log) => ({ log, isAccess: false, pattern }));
  const found = await read(
    client,
    [{ log: accessLog(stage), isAccess: true, pattern: `"${id}"` }, ...about(`"${id}"`)],
    from,
  );
  const invocations = new Set(found.flatMap((line) => (line.isAccess ? [] : (invocationOf(line) ?? []))));
  invocations.delete(id);
  if (invocations.size === 0) return found;
  const more = await read(client, about([...invocations].map((each) => `?"${each}"`).join(" ")), from);
  return sorted([...new Map([...found, ...more].map((line) => [line.eventId, line])).values()]);
}

/** Oldest first. */
async function read(client: CloudWatchLogsClient, searches: readonly Search[], startTime: number): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  for (const { log: logGroupName, isAccess, pattern: filterPattern, prefix: logStreamNamePrefix } of searches) {
    const search = { logGroupName, startTime, filterPattern, logStreamNamePrefix };
    for await (const { events = [] } of paginateFilterLogEvents({ client }, search))
      lines.push(...events.map((each) => ({ ...each, isAccess })));
  }
  return sorted(lines);
}

const sorted = (lines: readonly LogLine[]) =>
  lines.toSorted((one, other) => (one.timestamp ?? 0) - (other.timestamp ?? 0));

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: day };

function durationOf(text: string): number {
  const [, number, unit = ""] = /^(\d+)([mhd])$/.exec(text) ?? [];
  if (number === undefined) throw new UsageError(`--since takes a duration such as 30m, 1h or 7d, not ${text}`);
  return Number(number) * (units[unit] ?? 0);
}

function levelOf(text: string | undefined): Level | undefined {
  if (text === undefined || text === "warn" || text === "error") return text;
  throw new UsageError(`--level takes warn or error, not ${text}`);
}

const flags = {
  stage: { type: "string" },
  request: { type: "string" },
  function: { type: "string" },
  level: { type: "string" },
  since: { type: "string" },
  follow: { type: "boolean", default: false },
} as const;

export const syntax = { usage, flags };

if (import.meta.main) {
  await runCommand(syntax, async ({ stage, request, function: name, level, since, follow }) => {
    if (stage === undefined) throw new UsageError("--stage is missing");
    if (request !== undefined && !/^[\w-]+$/.test(request)) throw new UsageError(`${request} is no id of a request`);
    if (request !== undefined && (name !== undefined || level !== undefined || follow))
      throw new UsageError("--request shows all lines of one request, once");
    const sinceInMilliseconds = durationOf(since ?? (request === undefined ? "1h" : "1d"));
    const path = name === undefined ? undefined : functionPathOf(name);
    const options = { stage, request, path, level: levelOf(level), sinceInMilliseconds, print };
    if (follow) return await followLogs(options);
    if ((await printLogs(options)) === 0) throw new Error("Nothing was logged in this time");
  });
}
