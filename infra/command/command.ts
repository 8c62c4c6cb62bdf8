import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { closestMatch } from "leven";
import * as z from "zod/mini";
import { fieldsInWords } from "../../lib/operators/issues.ts";
import { print } from "./print.ts";

/** The words that a command understands. */
export interface Syntax<Flags extends ParseArgsOptionsConfig> {
  /** What `--help` prints; it begins with the command's name. */
  readonly usage: string;
  readonly flags?: Flags;
  /** The values of flags that may go without one. */
  readonly implied?: Readonly<Record<string, string>>;
  /** How many arguments there may be beside the flags. Default: none. */
  readonly count?: { readonly min: number; readonly max: number };
  /** Whether another program gets all words, as arguments; then only `usage` describes the flags. */
  readonly passesOn?: boolean;
}

type Parsed<Flags extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ args: string[]; options: Flags; allowPositionals: true }>
>;

/** A mistake in the words behind a command's name. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/**
 * Runs a command with the words behind its name. `--help` prints the usage instead. An error ends the process with 1
 * and its message; the usage follows if the mistake is in the words. It ends, too, when no process reads its output any
 * more, as behind `head`.
 */
export async function runCommand<const Flags extends ParseArgsOptionsConfig>(
  syntax: Syntax<Flags>,
  run: (flags: Parsed<Flags>["values"], args: readonly string[]) => Promise<void>,
): Promise<void> {
  const words = process.argv.slice(2);
  if (words.includes("--help")) return void process.stdout.write(`${syntax.usage}\n`);
  const end = (error: unknown) => {
    const message = error instanceof UsageError ? `${error.message}\n\n${syntax.usage}` : messageOf(error);
    print(message, process.stderr);
    process.exit(1);
  };
  process.stdout.on("error", (error) => (codeOf(error) === "EPIPE" ? process.exit(0) : end(error)));
  try {
    expectNoneForNpm(syntax, words);
    const parsed = parseWords(syntax, syntax.passesOn ? [] : words);
    await run(parsed.values, syntax.passesOn ? words : parsed.positionals);
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
function expectNoneForNpm({ usage, flags = {} }: Syntax<ParseArgsOptionsConfig>, words: readonly string[]): void {
  const rest = [...words];
  const kept = Object.entries(flags).flatMap(([flag, { type }]) => {
    if (!isForNpm(flag) || words.some((word) => word.split("=")[0] === `--${flag}`)) return [];
    if (type === "boolean") return [`--${flag}`];
    return [`--${flag} ${valueForNpm(flag) === "true" ? rest.pop() : valueForNpm(flag)}`];
  });
  if (kept.length === 0) return;
  const [command] = /^npm (run )?\S+/.exec(usage) ?? [];
  throw new UsageError(`npm keeps flags that are not behind --. Write: ${[command, "--", ...rest, ...kept].join(" ")}`);
}

const withValue = (word: string, implied: Readonly<Record<string, string>> = {}): string => {
  const value = word.startsWith("--") ? implied[word.slice(2)] : undefined;
  return value === undefined ? word : `${word}=${value}`;
};

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

/** @throws {UsageError} if a command does not understand these words */
export function parseWords<const Flags extends ParseArgsOptionsConfig>(
  { flags, implied, count = { min: 0, max: 0 } }: Syntax<Flags>,
  words: readonly string[],
): Parsed<Flags> {
  const args = words.map((word) => withValue(word, implied));
  const options = flags ?? ({} as Flags);
  expectKnown(args, options);
  const parsed = parseKnown(args, options);
  const { positionals } = parsed;
  if (positionals.length > count.max) throw new UsageError(`Unexpected argument ${positionals[count.max]}`);
  if (positionals.length < count.min) throw new UsageError("An argument is missing");
  return parsed;
}

function parseKnown<const Flags extends ParseArgsOptionsConfig>(args: string[], options: Flags): Parsed<Flags> {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(messageOf(error), { cause: error });
  }
}

/** The first flag that a command does not know is an error, which names a flag that may be meant. */
function expectKnown(args: string[], options: ParseArgsOptionsConfig): void {
  const { tokens } = parseArgs({ args, options, strict: false, tokens: true });
  const unknown = tokens.find((token) => token.kind === "option" && !(token.name in options));
  if (unknown?.kind !== "option") return;
  const nearest = nearestOf(unknown.name, [...Object.keys(options), "help"]);
  throw new UsageError(`Unknown flag ${unknown.rawName}${nearest ? `; did you mean --${nearest}?` : ""}`);
}

/** The name that is written most alike, unless too much of it differs. */
export function nearestOf(written: string, names: readonly string[]): string | undefined {
  const { length } = written;
  const maxDistance = Math.floor(Math.min(length / 2, Math.max(2, length / 3)));
  return closestMatch(written.toLowerCase(), [...names], { maxDistance });
}
