import { randomUUID } from "node:crypto";
import * as z from "zod/mini";
import { changeWithin } from "../data-api/change.ts";
import { execute, type Row } from "../data-api/client.ts";
import { text } from "../data-api/read.ts";
import { rolledBack } from "../data-api/transaction.ts";
import * as imports from "../queries/imports.ts";
import { expectations, fieldOf, storedLine } from "./catalogue-lines.ts";
import { type Batch, batchesOf, isRefusal, linesIn, readAhead } from "./import-lines.ts";
import { openSource, type Source } from "./import-source.ts";
import type { OperatorContext } from "./operator-function.ts";
import { plural } from "./plural.ts";
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
});

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

const progressIn = ([row]: readonly Row[]): Progress =>
  row ? progressSchema.parse(JSON.parse(text(row, 0))) : beginning;

const progressOf = async ({ name }: Source): Promise<Progress> => progressIn(await execute(imports.find(name)));

/** @throws if the import was undone, which has ended it */
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
function explained({ line, field: stored, reason }: RefusedLine): RefusedLine {
  const toText = reasons[reason];
  if (!toText) return { line, field: stored, reason };
  const field = fieldOf(stored ?? "");
  return { line, field, reason: toText(lastOf(field)) };
}

const lastOf = (field: string) => field.replace(/\.\d+$/, "[]").replace(/^.*\./, "");

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

/** Imports the lines of a batch. False if the import of the file has stopped elsewhere. */
async function importBatch(
  { lines, isLast }: Batch,
  { source, by, reason }: ImportInput,
  context: Pick<OperatorContext, "change" | "log">,
): Promise<boolean> {
  const refusals = lines.flatMap(({ number, content }) => (isRefusal(content) ? { line: number, ...content } : []));
  const stored = lines.flatMap(({ number, content }) => (isRefusal(content) ? [] : storedLine(number, content)));
  const { status, answer } = await context.change("import_records", {
    source,
    by,
    reason,
    first: lines[0]?.number ?? 1,
    last: lines.at(-1)?.number ?? 0,
    position: lines[0]?.start ?? 0,
    end: lines.at(-1)?.end ?? 0,
    isDone: isLast,
    refusals,
    lines: stored.map(({ line }) => line),
    rows: stored.flatMap(({ rows }) => rows),
  });
  if (status === 409) return false;
  const all = [...refusals, ...answerSchema.parse(answer).refusals].sort((one, other) => one.line - other.line);
  for (const each of all) context.log({ refused: explained(each) }, "warn");
  return true;
}

/** Until the end, edits of the same records wait. */
const dryRunMaxInMilliseconds = 40_000;

/** Imports the file from its beginning in one transaction, and takes that back. */
const tryFile = (source: Source, { by, reason }: ImportInput, { deadline, log, context }: OperatorContext) =>
  rolledBack(async (send): Promise<Progress> => {
    const end = Math.min(deadline, performance.now() + dryRunMaxInMilliseconds);
    const name = `dry run of ${source.name}`;
    await send(imports.withoutLocks);
    for await (const batch of batchesFrom(source, beginning)) {
      if (performance.now() > end) throw refusal(tooLong(batch));
      await importBatch(
        batch,
        { source: name, by, reason },
        {
          log,
          async change(change, input = {}) {
            const key = randomUUID();
            const request = { key, id: context?.awsRequestId ?? key, endpoint: "ops/import", input };
            const { status, body } = await changeWithin(send, change, request);
            return { status, answer: JSON.parse(body ?? "null") };
          },
        },
      );
    }
    return progressIn(await send(imports.find(name)));
  });

const tooLong = ({ lines }: Batch): string =>
  `A dry run takes no longer than ${dryRunMaxInMilliseconds / 1_000} s, in which it tried ${plural((lines[0]?.number ?? 1) - 1, "line")}: split the file into parts of fewer lines, and import each one behind its dry run`;
