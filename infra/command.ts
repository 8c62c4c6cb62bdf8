import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
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
 * and its message; the usage follows if the mistake is in the words.
 */
export async function runCommand<const Flags extends ParseArgsOptionsConfig>(
  syntax: Syntax<Flags>,
  run: (flags: Parsed<Flags>["values"], args: readonly string[]) => Promise<void>,
): Promise<void> {
  const words = process.argv.slice(2);
  if (words.includes("--help")) return void process.stdout.write(`${syntax.usage}\n`);
  try {
    const { values, positionals } = parseWords(syntax, words);
    await run(values, positionals);
  } catch (error) {
    const message = error instanceof UsageError ? `${error.message}\n\n${syntax.usage}` : messageOf(error);
    print(message, process.stderr);
    process.exit(1);
  }
}

const withValue = (word: string, implied: Readonly<Record<string, string>> = {}): string => {
  const value = word.startsWith("--") ? implied[word.slice(2)] : undefined;
  return value === undefined ? word : `${word}=${value}`;
};

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name === "CredentialsProviderError" ? `${withoutCredentials}: ${error.message}` : error.message;
}

const withoutCredentials = "There are no credentials for AWS; set AWS_PROFILE, or sign in";

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

/** The name that is written most alike, unless more than half of it differs. */
function nearestOf(written: string, names: readonly string[]): string | undefined {
  const [best] = names
    .map((name) => ({ name, edits: editsBetween(written.toLowerCase(), name) }))
    .sort((one, other) => one.edits - other.edits);
  return best && best.edits <= written.length / 2 ? best.name : undefined;
}

/** Levenshtein distance: how many letters must be added, removed or replaced. */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const letter of one) {
    const next = [(row[0] ?? 0) + 1];
    for (const [index, each] of [...other].entries()) {
      const replaced = (row[index] ?? 0) + (letter === each ? 0 : 1);
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
