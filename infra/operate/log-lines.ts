import type { FilteredLogEvent } from "@aws-sdk/client-cloudwatch-logs";
import * as z from "zod/mini";
import { readable } from "../local/log.ts";

/** A line of a log of CloudWatch, and what kind of log that is. */
export interface LogLine extends FilteredLogEvent {
  readonly isAccess: boolean;
}

/** Node's runtime writes time, id of the invocation and level before what it logs itself, as for an uncaught error. */
const logged = /^\S+Z\t(?<invocation>[\w-]+)\t[A-Z]+\t(?<text>.*)$/s;
/** The lines of functions (lib/http/log.ts) and Lambda's own have the id of the invocation, too. */
const identified = /"invocationId":"(?<invocation>[\w-]+)"|\bRequestId: (?<platform>[\w-]+)/;

/** The id of the invocation that a line of a function is about. */
export function invocationOf({ message = "" }: LogLine): string | undefined {
  const ids = logged.exec(message)?.groups ?? identified.exec(message)?.groups;
  return ids?.invocation ?? ids?.platform;
}

/** A line as people can read it; undefined if it says nothing. */
export function readableLine(line: LogLine, options: { readonly requestIds: boolean }): string | undefined {
  const { timestamp = 0, message = "", isAccess } = line;
  const head = `${new Date(timestamp).toISOString()} ${isAccess ? "gateway" : functionOf(line)}`;
  if (isAccess) return readable(accessText(message), { ...options, head });
  if (/^(?:START|END|INIT_START) /.test(message)) return undefined;
  const text = (logged.exec(message)?.groups?.text ?? message).trimEnd();
  const shown = readable(text, { ...options, head });
  return shown === text ? `${head} ${text.replaceAll("\t", " ")}` : shown;
}

/** A stream is named after day, function, version and environment: `2026/11/23/colophon-prod-session[7]0f3a…`. */
const functionOf = ({ logStreamName = "" }: LogLine): string =>
  /\/([\w-]+)\[/.exec(logStreamName)?.[1]?.replace(/^colophon-[a-z0-9]+-/, "") ?? logStreamName;

const accessSchema = z.record(z.string(), z.union([z.string(), z.number()]));

/** A line of the access log (infra/stacks/api/rest-api.ts) with the names that functions use. */
function accessText(message: string): string {
  const {
    time: _,
    method,
    path,
    milliseconds,
    errorType: gatewayError,
    ...fields
  } = accessSchema.parse(JSON.parse(message));
  const present = Object.entries({ ...fields, gatewayError }).filter(([, value]) => value !== "-");
  return JSON.stringify({
    level: "info",
    ...Object.fromEntries(present),
    path: `${method} ${path}`,
    durationInMilliseconds: milliseconds,
  });
}
