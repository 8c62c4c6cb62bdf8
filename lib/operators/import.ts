import * as z from "zod/mini";
import { execute } from "../data-api/client.ts";
import { sqlStateOf } from "../data-api/errors.ts";
import { text } from "../data-api/read.ts";
import * as imports from "../queries/imports.ts";
import { type CatalogueLine, expectations, type Refusal } from "./catalogue-lines.ts";
import { type Batch, batchesOf, isRefusal, itemOf, itemWithout, linesIn, readAhead, recordOf } from "./import-lines.ts";
import { openSource, type Source } from "./import-source.ts";
import type { OperatorContext } from "./operator-function.ts";
import { refusal } from "./refusal.ts";

const refusedLine = z.object({ line: z.number(), field: z.nullable(z.string()), reason: z.string() });
type RefusedLine = z.output<typeof refusedLine>;

const counts = { added: z.number(), changed: z.number(), unchanged: z.number() };

const progressSchema = z.object({
  position: z.number(),
  lines: z.number(),
  ...counts,
  refused: z.number(),
  refusals: z.array(refusedLine),
  is_done: z.boolean(),
});
/** How far an import has come (the table `imports`). */
type Progress = z.output<typeof progressSchema>;

const answerSchema = z.object({
  ...counts,
  refusals: z.array(refusedLine),
  /** In a dry run: the lines of new records, by their kinds and ids. */
  fresh: z.optional(z.nullable(z.record(z.string(), z.record(z.string(), z.number())))),
  /** In a dry run: the names, slugs and images that lines want for their own. */
  claims: z._default(z.array(z.object({ line: z.number(), field: z.string(), value: z.string() })), []),
});
/** What became of a batch; `refusals` has those of the database. */
type Answer = z.output<typeof answerSchema>;

const beginning: Progress = {
  position: 0,
  lines: 0,
  added: 0,
  changed: 0,
  unchanged: 0,
  refused: 0,
  refusals: [],
  is_done: false,
};

/** What the function answers. */
export interface Report {
  readonly lines: number;
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  /** How many lines were refused, and the first hundred of them. */
  readonly refusedCount: number;
  readonly refused: readonly RefusedLine[];
  readonly isDone: boolean;
}

const refusalsMax = 100;

export interface ImportInput {
  readonly source: string;
  readonly dryRun?: boolean | undefined;
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
}

/**
 * Imports a file from where an earlier run stopped, until its end or the deadline, behind which it begins no batch. A file
 * that was finished begins anew.
 */
export async function importFile(input: ImportInput, context: OperatorContext): Promise<Report> {
  const source = await openSource(input.source);
  if (input.dryRun) return reportOf(await tryFile(source, input, context));
  let progress = await progressOf(source);
  if (progress.is_done) progress = beginning;
  for (;;) {
    for await (const batch of batchesFrom(source, progress)) {
      if (isLate(context)) return reportOf(await progressMade(source));
      if (!(await importBatch(batch, { ...input, source: source.name }, context))) break;
    }
    // Another run may have done what this one was about to do.
    progress = await progressMade(source);
    if (progress.is_done) return reportOf(progress);
  }
}

const batchesFrom = (source: Source, start: Progress) =>
  readAhead(batchesOf(linesIn(source.read(start.position), start)));

const isLate = ({ deadline }: OperatorContext): boolean => performance.now() > deadline;

async function progressOf({ name }: Source): Promise<Progress> {
  const [row] = await execute(imports.find(name));
  return row ? progressSchema.parse(JSON.parse(text(row, 0))) : beginning;
}

/** @throws if an import that somebody has taken back was ended by that */
async function progressMade(source: Source): Promise<Progress> {
  const progress = await progressOf(source);
  if (progress.is_done && progress.position < source.length)
    throw refusal("ops-undo has taken this import back and ended it: import the file again if that was a mistake");
  return progress;
}

const reportOf = ({ lines, added, changed, unchanged, refused, refusals, is_done }: Progress): Report => ({
  lines,
  added,
  changed,
  unchanged,
  refusedCount: refused,
  refused: refusals.map(explained),
  isDone: is_done,
});

/** What the database says of a line, in words. */
const explained = ({ line, field, reason }: RefusedLine): RefusedLine => ({
  line,
  field,
  reason: reasons[reason]?.(lastOf(field)) ?? reason,
});

const lastOf = (field: string | null) => (field ?? "").replace(/\.\d+$/, "[]").replace(/^.*\./, "");

const reasons: Readonly<Record<string, (field: string) => string>> = {
  needed: (field) => `a new record needs it; expected ${expectations[field]}`,
  differs: () => "expected the slug that the record has: a slug does not change",
  unsaid: () => "expected the slug that externalId says",
  taken: (field) => (field === "first_name" ? "another contributor has this name" : "another record has it"),
  unknown: (field) => `there is none; expected ${expectations[field]}`,
  removed: () => "this image is about to be removed",
  same: () => `it is the same record; expected ${expectations.to}`,
  full: () => "this record has as many relations as it may, 100",
};

/**
 * Imports the lines of a batch, or tries to.
 * @param toItem how a line is sent, if it is
 * @returns what became of them, with all that were refused; undefined if the import of the file has stopped elsewhere
 */
async function importBatch(
  { lines, isLast }: Batch,
  { source, ...options }: ImportInput,
  context: OperatorContext,
  toItem: (number: number, content: CatalogueLine) => object | undefined = itemOf,
): Promise<Answer | undefined> {
  const refusals = lines.flatMap(({ number, content }) => (isRefusal(content) ? { line: number, ...content } : []));
  const input = {
    source,
    ...options,
    first: lines[0]?.number ?? 1,
    last: lines.at(-1)?.number ?? 0,
    position: lines[0]?.start ?? 0,
    end: lines.at(-1)?.end ?? 0,
    isDone: isLast,
    refusals,
    records: lines.flatMap(({ number, content }) => (isRefusal(content) ? [] : (toItem(number, content) ?? []))),
  };
  try {
    const { status, answer } = await context.change("import_records", input);
    if (status === 409) return undefined;
    const result = answerSchema.parse(answer);
    const all = [...refusals, ...result.refusals].sort((one, other) => one.line - other.line);
    // Lines of a dry run may be tried several times.
    if (!options.dryRun) logRefusals(all, context);
    return { ...result, refusals: all };
  } catch (error) {
    if (sqlStateOf(error) !== uniqueViolation || lines.length < 2) throw error;
  }
  // Lines that depend on each other, as when one gives up a name that another one takes, come one after the other.
  const half = Math.ceil(lines.length / 2);
  const rest = { source, ...options };
  const one = await importBatch({ lines: lines.slice(0, half), isLast: false }, rest, context, toItem);
  const other = one && (await importBatch({ lines: lines.slice(half), isLast }, rest, context, toItem));
  return other && sumOf(one, other);
}

function logRefusals(refusals: readonly RefusedLine[], { log }: OperatorContext): void {
  for (const each of refusals) log({ refused: explained(each) }, "warn");
}

const uniqueViolation = "23505";

const sumOf = (one: Answer, other: Answer): Answer => ({
  added: one.added + other.added,
  changed: one.changed + other.changed,
  unchanged: one.unchanged + other.unchanged,
  refusals: [...one.refusals, ...other.refusals],
  claims: [...one.claims, ...other.claims],
  fresh: Object.fromEntries(recordKinds.map((kind) => [kind, { ...one.fresh?.[kind], ...other.fresh?.[kind] }])),
});

const recordKinds = ["client", "publisher", "contributor", "series"];

/**
 * A dry run of a file, from its beginning to its end or the deadline. Each batch is tried by itself, so what earlier
 * ones would have done is only known here.
 */
async function tryFile(source: Source, input: ImportInput, context: OperatorContext): Promise<Progress> {
  let progress = beginning;
  /** The records that were added, and whose are the names, slugs and images that only one may have. */
  const known = { added: new Set<string>(), owners: new Map<string, string>() };
  for await (const batch of batchesFrom(source, beginning)) {
    if (isLate(context)) return progress;
    const answer = await tryBatch(batch, { ...input, source: source.name }, context, known);
    progress = {
      position: batch.lines.at(-1)?.end ?? 0,
      lines: batch.lines.at(-1)?.number ?? 0,
      added: progress.added + answer.added,
      changed: progress.changed + answer.changed,
      unchanged: progress.unchanged + answer.unchanged,
      refused: progress.refused + answer.refusals.length,
      refusals: [...progress.refusals, ...answer.refusals].slice(0, refusalsMax),
      is_done: batch.isLast,
    };
  }
  return progress;
}

/**
 * Tries a batch, and notes what it would have done. A record of an earlier batch is not there: lines that lead to it are
 * sent without that, and one about it is not sent, and counts as a change. If a line wants what a record of an earlier
 * batch has got, the batch is tried once more without that line, since others may lead to it.
 */
async function tryBatch(
  batch: Batch,
  input: ImportInput,
  context: OperatorContext,
  known: { readonly added: Set<string>; readonly owners: Map<string, string> },
): Promise<Answer> {
  const unsent = new Set<number>();
  const toItem = (number: number, content: CatalogueLine) => {
    const item = itemWithout(known.added, number, content);
    if (!item) unsent.add(number);
    return item;
  };
  const answer = await importBatch(batch, input, context, toItem);
  if (!answer) throw new Error("A dry run was refused");
  const records = new Map(batch.lines.map(({ number, content }) => [number, recordOf(content)]));
  const refused = new Set(answer.refusals.map(({ line }) => line));
  const claims = answer.claims.filter(({ line }) => !refused.has(line));
  const taken = new Map<number, Refusal>();
  for (const { line, field, value } of claims) {
    const owner = known.owners.get(value);
    if (owner !== undefined && owner !== records.get(line)) taken.set(line, { field, reason: "taken" });
  }
  if (taken.size > 0) {
    const lines = batch.lines.map((line) => ({ ...line, content: taken.get(line.number) ?? line.content }));
    return await tryBatch({ ...batch, lines }, input, context, known);
  }
  logRefusals(answer.refusals, context);
  for (const { line, value } of claims) known.owners.set(value, records.get(line) ?? "");
  for (const line of Object.values(answer.fresh ?? {}).flatMap((lines) => Object.values(lines))) {
    const record = records.get(line);
    if (record !== undefined) known.added.add(record);
  }
  return { ...answer, changed: answer.changed + unsent.size, unchanged: answer.unchanged - unsent.size };
}
