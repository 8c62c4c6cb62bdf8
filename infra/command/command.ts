import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { closestMatch } from "leven";
import * as z from "zod/mini";
import { fieldsInWords } from "../../lib/operators/issues.ts";
import { print, visible } from "./print.ts";

/** A mistake in the words behind a command's name that only the command itself finds. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/**
 * A command of this project, whose help follows a mistake in its words.
 * @param name as people write it: `npm run smoke`
 */
export const newCommand = (name: string) =>
  new Command(`${name} --`)
    .showHelpAfterError()
    .helpOption("--help")
    .configureOutput({ outputError: (text, write) => write(visible(text)) });

/**
 * Runs a command with the words behind its name. An error ends the process with 1 and its message. The process ends,
 * too, when no other one reads its output any more, as behind `head`.
 */
export async function runCommand(command: CommandUnknownOpts): Promise<void> {
  const words = process.argv.slice(2);
  const end = (error: unknown) => {
    if (error instanceof UsageError) command.error(error.message);
    print(messageOf(error), process.stderr);
    process.exit(1);
  };
  process.stdout.on("error", (error) => (codeOf(error) === "EPIPE" ? process.exit(0) : end(error)));
  try {
    expectNoneForNpm(command, words);
    await command.parseAsync(words, { from: "user" });
  } catch (error) {
    end(error);
  }
}

/** npm sets this for the value of a flag that it keeps, since the flag is not behind `--`. */
const valueForNpm = (flag: string): string | undefined => process.env[`npm_config_${flag.replaceAll("-", "_")}`];

/** Whether npm has kept a flag. People set its own `yes` for npm, too, and without ours a command only asks. */
const isForNpm = (flag: string): boolean =>
  flag.startsWith("no-") ? valueForNpm(flag.slice(3)) === "" : flag !== "yes" && Boolean(valueForNpm(flag));

/** @throws {UsageError} with the right form, for `npm start --port 4000`: npm passes on `4000` alone */
function expectNoneForNpm(command: CommandUnknownOpts, words: readonly string[]): void {
  const rest = [...words];
  const kept = command.options.flatMap((option) => {
    const flag = `${option.long}`.slice(2);
    if (!isForNpm(flag) || words.some((word) => word.split("=")[0] === option.long)) return [];
    if (option.isBoolean() || option.negate) return [`--${flag}`];
    return [`--${flag} ${valueForNpm(flag) === "true" ? rest.pop() : valueForNpm(flag)}`];
  });
  if (kept.length === 0) return;
  throw new UsageError(
    `npm keeps flags that are not behind --. Write: ${[command.name(), ...rest, ...kept].join(" ")}`,
  );
}

/** What went wrong, in a sentence. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError) return messageOf(error.errors[0]);
  if (error instanceof z.core.$ZodError) return `Unexpected response: ${fieldsInWords(error.issues).join("; ")}`;
  if (error.name === "CredentialsProviderError") return `${withoutCredentials}: ${error.message}`;
  return sentences[codeOf(error) ?? ""]?.(error) ?? error.message;
}

const withoutCredentials = "There are no credentials for AWS; set AWS_PROFILE, or sign in";

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code;

type SystemError = NodeJS.ErrnoException & {
  readonly address?: string;
  readonly dest?: string;
  readonly port?: number;
  readonly hostname?: string;
};

/** Errors of the operating system, by their codes. */
const sentences: Readonly<Record<string, (error: SystemError) => string>> = {
  EACCES: ({ path }) => `You may not read or write ${path}`,
  EADDRINUSE: ({ port }) => `Port ${port} is taken`,
  ECONNREFUSED: ({ address, port }) => `Nothing listens on ${address}:${port}`,
  EEXIST: ({ path }) => `${path} exists already`,
  EISDIR: ({ dest, path = "The path" }) => `${dest ?? path} is a directory, not a file`,
  ENOENT: ({ path, syscall = "" }) => {
    if (syscall.startsWith("spawn")) return `There is no program ${path}`;
    // With `recursive`, Node.js says this of a read-only file system, too.
    if (syscall === "mkdir") return `The directory ${path} cannot be made: its file system may be read-only`;
    return `There is no file or directory ${path}`;
  },
  ENOSPC: ({ path }) => `No space is left on the file system${path ? ` of ${path}` : ""}`,
  ENOTDIR: ({ path }) => `${path} is not in a directory`,
  ENOTFOUND: ({ hostname }) => `There is no host ${hostname}`,
  EROFS: ({ path }) => `The file system of ${path} is read-only`,
};

/** The name with the most similar spelling, unless too much of it differs. */
export function nearestOf(written: string, names: readonly string[]): string | undefined {
  const { length } = written;
  const maxDistance = Math.floor(Math.min(length / 2, Math.max(2, length / 3)));
  return closestMatch(written.toLowerCase(), [...names], { maxDistance });
}
