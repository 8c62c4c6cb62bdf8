import type { PageHandler } from "../aws-local/api-gateway/server.ts";
import type { Print } from "../aws-local/lambda/lambda.ts";
import { print, visible } from "../command/print.ts";

/**
 * Prints a line that a function has logged, or Lambda about it: in a terminal so that people can read it, and not that
 * a request had a response, which `printRequests` tells there.
 */
export const printLog: Print = (level, text) => {
  if (!process.stdout.isTTY) return console[level](text);
  const fields = fieldsOf(text);
  if (fields?.level !== "info" || fields.status === undefined) console[level](visible(readable(text)));
};

/** Prints a line for each request in a terminal, whether a function, the gateway or a page responds. It never does. */
export const printRequests: PageHandler = ({ method, url = "" }, response) => {
  if (!process.stdout.isTTY) return false;
  const startedAt = performance.now();
  response.once("close", () => {
    const milliseconds = Math.round(10 * (performance.now() - startedAt)) / 10;
    const words = [clockTime(undefined), response.statusCode, method, url.split("?")[0], milliseconds, "ms"];
    print(words.join(" "));
  });
  return false;
};

type Fields = Readonly<Record<string, unknown>>;

/** Fields that a developer who has just sent the request does not need. */
const hidden = new Set(["level", "time", "requestId", "invocationId", "callerId", "cold", "streamed"]);
const messageLengthMax = 160;

interface ReadableOptions {
  /** What the line begins with. Default: the time on this machine's clock. */
  readonly head?: string;
  /** Whether every line has the id of its request, and not only warnings and errors. */
  readonly requestIds?: boolean;
}

/** A line of JSON as one short line, with the trace of its error below. Other text stays as it is. */
export function readable(text: string, { head, requestIds = false }: ReadableOptions = {}): string {
  const fields = fieldsOf(text);
  if (!fields) return text;
  const { level, time, requestId, endpoint, function: name = endpoint, path = name, status, ...others } = fields;
  const { durationInMilliseconds, error, errorType, errorMessage, trace, message, response, ...rest } = others;
  const failure = errorOf(error) ?? errorOf({ name: errorType, message: errorMessage, stack: trace });
  const line = [
    head ?? clockTime(time),
    level === "info" ? undefined : level,
    status,
    path,
    durationInMilliseconds === undefined ? undefined : `${durationInMilliseconds} ms`,
    message,
    ...Object.entries(rest).flatMap(([key, value]) => (hidden.has(key) ? [] : `${key}=${JSON.stringify(value)}`)),
    failure && headOf(failure),
    (level === "info" && !requestIds) || requestId === undefined ? undefined : `(request ${requestId})`,
  ];
  const shown = line.filter((part) => part !== undefined).join(" ");
  return [shown, ...(failure ? traceOf(failure) : [])].join("\n    ");
}

function fieldsOf(text: string): Fields | undefined {
  try {
    const fields: unknown = JSON.parse(text);
    return typeof fields === "object" && fields !== null && "level" in fields ? { ...fields } : undefined;
  } catch {
    return undefined;
  }
}

const clockTime = (time: unknown) =>
  (typeof time === "string" ? new Date(time) : new Date()).toTimeString().slice(0, 8);

/** An error as functions log it, or as Lambda does, whose trace is a list of lines. */
function errorOf(value: unknown) {
  const { name = "Error", message, stack = [], cause } = (value ?? {}) as Fields;
  return message === undefined ? undefined : { name, message: `${message}`, stack: [stack].flat().join("\n"), cause };
}

type LoggedError = NonNullable<ReturnType<typeof errorOf>>;

const shortened = (line = "") => (line.length <= messageLengthMax ? line : `${line.slice(0, messageLengthMax)}…`);

const headOf = ({ name, message }: LoggedError) => `${name}: ${shortened(message.split("\n")[0])}`;

/** What the head leaves out: the rest of the message, where in this project it comes from, and its cause. */
function traceOf({ message, stack, cause }: LoggedError): string[] {
  const [first = "", ...lines] = (stack || message).split("\n");
  const [head = ""] = message.split("\n");
  const error = errorOf(cause);
  return [
    ...(shortened(head) === head ? [] : [first]),
    ...lines.filter((line) => !foreignFrame.test(line)).map((line) => line.replace(/^ {4}(?=at )/, "")),
    ...(error ? [`caused by ${headOf(error)}`, ...traceOf(error)] : []),
  ];
}

const foreignFrame = /^ {4}at .*(\/node_modules\/|node:)/;
