import type { LogLevel } from "../../infra/aws-local/lambda/messages.ts";

interface LoggedError {
  readonly name?: string;
  readonly message?: string;
  readonly stack?: string;
  readonly cause?: LoggedError;
}

/** What functions have logged as errors since the test began, as people read it. */
export const loggedErrors: string[] = [];

/** Prints what a function logs. */
export function print(level: LogLevel, text: string): void {
  if (text.startsWith('{"level":"error"')) loggedErrors.push(inWords(JSON.parse(text)));
  console[level](text);
}

/** A line of a function, or of Lambda about one. */
interface Line {
  readonly endpoint?: string;
  readonly function?: string;
  readonly message?: string;
  readonly error?: LoggedError;
  readonly errorType?: string;
  readonly errorMessage?: string;
}

function inWords({ endpoint, function: name = endpoint ?? "A function", error, ...line }: Line): string {
  if (!error) return `${name}: ${line.errorMessage ? `${line.errorType}: ${line.errorMessage}` : line.message}`;
  const [, ...places] = error.stack?.split(/\n\s*(?=at )/) ?? [];
  const ours = places.filter((each) => !/node_modules\/|\(?node:/.test(each));
  return [`${name}: ${messageOf(error)}`, ...(ours.length > 0 ? ours : places).slice(0, 3)].join("\n    ");
}

const messageOf = ({ name, message, cause }: LoggedError): string =>
  `${name}: ${message}${cause ? `, because of ${messageOf(cause)}` : ""}`;
