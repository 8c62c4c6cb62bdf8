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

interface Line {
  readonly level: string;
  readonly time: string;
  readonly endpoint?: string;
  readonly error?: LoggedError;
}

function inWords({ level: _, time: __, endpoint = "A function", error, ...others }: Line): string {
  if (!error) return `${endpoint}: ${JSON.stringify(others)}`;
  const [, ...places] = error.stack?.split(/\n\s*(?=at )/) ?? [];
  return [`${endpoint}: ${messageOf(error)}`, ...places.slice(0, 3)].join("\n    ");
}

const messageOf = ({ name, message, cause }: LoggedError): string =>
  `${name}: ${message}${cause ? `, because of ${messageOf(cause)}` : ""}`;
