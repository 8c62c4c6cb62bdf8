import { Readable } from "node:stream";
import * as z from "zod/mini";
import { execute, integer, type Row, text } from "../../data-api/client.ts";
import { rolledBack } from "../../data-api/transaction.ts";
import type { LineTable } from "../../queries/catalogue.ts";
import * as imports from "../../queries/imports.ts";
import type { OperatorContext } from "../operator-function.ts";
import type { OperatorPayload } from "../payloads.ts";
import { plural } from "../plural.ts";
import { refusal } from "../refusal.ts";
import { kinds, lineOfClient, storedLine } from "./catalogue-lines.ts";
import { type Batch, batchesOf, isRefusal, linesIn, type Start } from "./import-lines.ts";
import { type ImportReport, importReport } from "./import-report.ts";
import { openSource, type Source } from "./import-source.ts";

/** How far an import has come (the table `imports`). */
interface Progress {
  readonly position: number;
  readonly report: ImportReport;
}

const batchResult = z.object({ refusals: importReport.shape.refused });

type ImportInput = Pick<OperatorPayload<"ops/import">, "source" | "client" | "dryRun" | "reason" | "by">;

/**
 * Imports a file from where an earlier run stopped, until its end or the deadline, behind which it begins no batch. A file
 * that was finished begins anew.
 */
export async function importFile(input: ImportInput, context: OperatorContext): Promise<ImportReport> {
  const opened = await openSource(input.source);
  const source = input.client === undefined ? opened : { ...opened, name: `${opened.name} of client ${input.client}` };
  if (input.dryRun) return await tryFile(source, input, context);
  let { position, report } = await progressOf(source);
  if (report.isDone) position = 0;
  for (;;) {
    const lines = position === 0 ? 0 : report.lines;
    for await (const batch of batchesFrom(source, { position, lines })) {
      if (performance.now() > context.deadline) return (await progressMade(source)).report;
      if (!(await importBatch(batch, { ...input, source: source.name }, context))) break;
    }
    // Another run may have done what this one was about to do.
    ({ position, report } = await progressMade(source));
    if (report.isDone) return report;
  }
}

/** The batches from there on; the next one is made while one is imported. */
const batchesFrom = (source: Source, start: Start): AsyncIterable<Batch> =>
  Readable.from(batchesOf(linesIn(source.read(start.position), start)), { highWaterMark: 1 });

function progressIn([row = []]: readonly Row[]): Progress {
  const counts = z.record(z.string(), z.number()).parse(JSON.parse(text(row, 1)));
  const countsOf = ([kind, { table }]: readonly [string, LineTable]) => {
    const { [`added ${table}`]: added = 0, [`changed ${table}`]: changed = 0 } = counts;
    return added + changed === 0 ? [] : [[kind, { added, changed }] as const];
  };
  const changedOf = Object.entries(counts).flatMap(([name, count]) =>
    name.startsWith("client ") ? [[name.slice("client ".length), count] as const] : [],
  );
  const report = importReport.parse({
    ...JSON.parse(text(row, 2)),
    kinds: Object.fromEntries(Object.entries(kinds).flatMap(countsOf)),
    changedOf: Object.fromEntries(changedOf),
    published: counts.published ?? 0,
  });
  return { position: integer(row, 0), report };
}

const progressOf = async ({ name }: Source): Promise<Progress> => progressIn(await execute(imports.find(name)));

/** @throws if the import was undone, which has ended it */
async function progressMade(source: Source): Promise<Progress> {
  const progress = await progressOf(source);
  if (progress.report.isDone && progress.position < source.length)
    throw refusal("ops-undo has taken this import back and ended it: import the file again if that was a mistake");
  return progress;
}

/** Imports the lines of a batch. False if the import of the file has stopped elsewhere. */
async function importBatch(
  { lines, isLast }: Batch,
  { source, client, by, reason }: ImportInput,
  context: Pick<OperatorContext, "change" | "log">,
): Promise<boolean> {
  const { status, result } = await context.change("import_records", {
    source,
    client,
    by,
    reason,
    last: lines.at(-1)?.number ?? 0,
    position: lines[0]?.start ?? 0,
    end: lines.at(-1)?.end ?? 0,
    isDone: isLast,
    lines: lines.map(({ number, content }) => {
      const line = client === undefined ? content : lineOfClient(content, client);
      return { number, ...(isRefusal(line) ? line : storedLine(line)) };
    }),
  });
  if (status === 409) return false;
  for (const refused of batchResult.parse(result).refusals) context.log({ refused }, "warn");
  return true;
}

/** Until the end, edits of the same records wait. */
const dryRunMaxInMilliseconds = 40_000;

/** Imports the file from its beginning in one transaction, and takes that back. */
const tryFile = (source: Source, { client, by, reason }: ImportInput, { deadline, ...context }: OperatorContext) =>
  rolledBack(async (send): Promise<ImportReport> => {
    const end = Math.min(deadline, performance.now() + dryRunMaxInMilliseconds);
    const name = `dry run of ${source.name}`;
    const within: OperatorContext["change"] = (change, input = {}) => context.changeWithin(send, change, input);
    await send(imports.withoutLocks);
    for await (const batch of batchesFrom(source, { position: 0, lines: 0 })) {
      if (performance.now() > end) throw refusal(tooLong(batch));
      await importBatch(batch, { source: name, client, by, reason }, { ...context, change: within });
    }
    return progressIn(await send(imports.find(name))).report;
  });

const tooLong = ({ lines }: Batch): string =>
  `A dry run takes no longer than ${dryRunMaxInMilliseconds / 1_000} s, in which it tried ${plural((lines[0]?.number ?? 1) - 1, "line")}: split the file into parts of fewer lines, and import each one behind its dry run`;
