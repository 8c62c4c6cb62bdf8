import * as z from "zod/mini";
import { plural } from "../../lib/operators/plural.ts";
import { type ImportReport, importReport } from "../../lib/operators/transfer/import-report.ts";
import { listedChange } from "../../lib/operators/undo/changes-in-words.ts";
import { type differing, type UndoResult, undoResult } from "../../lib/operators/undo/undo-result.ts";
import { visible } from "../command/print.ts";

const listed = z.object({ changes: z.array(listedChange), next: z.nullable(z.number()) });

function changesInWords({ changes, next }: z.output<typeof listed>): readonly string[] {
  if (changes.length === 0) return ["No changes"];
  const entries = changes.map((change) => {
    const { id, at, by, endpoint, record, name, what, undoes, undoneBy, reason } = change;
    return entry(
      [id, timeOf(at), userOf(by, change), endpoint, record, name],
      [
        undoes && `undoes ${undoes.join(", ")}`,
        ...what,
        reason && `reason: ${reason}`,
        undoneBy && `undone by ${undoneBy}`,
      ],
    );
  });
  return [...entries, ...(next === null ? [] : ["", `There are more: add "before": ${next} to the payload.`])];
}

function undoInWords(result: UndoResult, isDryRun: boolean): readonly string[] {
  const { change, undone, refused, isDone } = result;
  const byChange = change === undefined ? "" : `, as change ${change}`;
  const left = isDryRun
    ? "Older changes are left: a dry run tries as many as fit into one call."
    : "Some changes are left: invoke it again with the same payload.";
  return [
    `${isDryRun ? "Would undo" : "Undid"} ${changesOf(undone.length)}${byChange}`,
    ...undone.map((each) =>
      entry(
        [each.change, timeOf(each.at), userOf(each.username, each)],
        [...each.what, ...each.missing.map((reason) => `missing: ${reason}`)],
      ),
    ),
    ...(refused.length > 0 ? ["", `Cannot undo ${changesOf(refused.length)}:`] : []),
    ...refused.map((each) => entry([each.change, each.reason], each.differing.map(differenceInWords))),
    ...(isDone ? [] : ["", left]),
  ];
}

/** `contributor 5  first_name "C", by change 812 of editor, 2026-11-23 07:30:12Z` */
function differenceInWords({ record, row, now, later }: z.output<typeof differing>): string {
  const values = Object.entries(now ?? {}).map(([column, value]) => `${column} ${JSON.stringify(value)}`);
  const what = now === null ? "gone" : values.join(", ") || "there";
  const by =
    later === null ? "" : `, by change ${later.change} of ${userOf(later.username, later)}, ${timeOf(later.at)}`;
  return [record.replace("/", " "), row, what].filter(Boolean).join("  ") + by;
}

function importInWords(report: ImportReport, isDryRun: boolean): readonly string[] {
  const { lines, added, changed, unchanged, refusedCount, refused, isDone, kinds, changedOf, published } = report;
  const counts = Object.entries({ added, changed, unchanged, refused: refusedCount })
    .map(([what, count]) => `${numberOf(count)} ${what}`)
    .join(", ");
  const rest = refusedCount - refused.length;
  return [
    `${isDryRun ? "Would import" : "Imported"} ${plural(lines, "line")}: ${counts}`,
    ...Object.entries(kinds).map(
      ([kind, of]) => `    ${kind}: ${numberOf(of.added)} added, ${numberOf(of.changed)} changed`,
    ),
    ...Object.entries(changedOf).map(
      ([client, count]) =>
        `    changed records ${client === "0" ? "without a client" : `of client ${client}`}: ${numberOf(count)}`,
    ),
    ...(published > 0 ? [`    contributors that became public: ${numberOf(published)}`] : []),
    ...(refused.length > 0 ? ["", "Refused lines, which change nothing:"] : []),
    ...refused.map(({ line, field, reason }) => entry([line, field, reason])),
    ...(rest > 0 ? [`and ${numberOf(rest)} more, which the log has`] : []),
    ...(isDone ? [] : ["", "Some lines are left: invoke it again with the same payload."]),
  ];
}

const numberOf = (count: number): string => count.toLocaleString("en");
const changesOf = (count: number): string => (count === 0 ? "nothing" : plural(count, "change"));
const timeOf = (at: string): string => `${new Date(at).toISOString().slice(0, 19).replace("T", " ")}Z`;
/** Another program has neither a user nor an endpoint. */
const userOf = (name: string | null, by: { userId: number | null; endpoint: string | null; role: string }): string =>
  name ?? (by.userId !== null ? `user ${by.userId}` : by.endpoint === null ? `role ${by.role}` : "an operator");

/** What is known of one thing, and indented below it what more there is to say. */
const entry = (head: readonly unknown[], lines: readonly unknown[] = []): string =>
  [head.filter(Boolean).join("  "), ...lines.filter(Boolean).map((line) => `    ${line}`)].join("\n");

/** The lines of a result; undefined if it is not as this release returns it. */
type Format = (result: unknown, isDryRun: boolean) => readonly string[] | undefined;

/** A stage may have another release, whose results differ. */
const formatOf =
  <Schema extends z.ZodMiniType>(
    schema: Schema,
    inWords: (result: z.output<Schema>, isDryRun: boolean) => readonly string[],
  ): Format =>
  (result, isDryRun) => {
    const parsed = z.safeParse(schema, result);
    return parsed.success ? inWords(parsed.data, isDryRun) : undefined;
  };

const formats: Readonly<Record<string, Format>> = {
  "ops/import": formatOf(importReport, importInWords),
  "ops/list-changes": formatOf(listed, changesInWords),
  "ops/undo": formatOf(undoResult, undoInWords),
};

const dryRun = z.object({ dryRun: z.boolean() });

/** A result to an operator in words; undefined if it is to be shown as JSON. */
export const resultInWords = (path: string, result: unknown, event: unknown): string | undefined =>
  formats[path]?.(escaped(result), dryRun.safeParse(event).data?.dryRun ?? false)?.join("\n");

/** With texts as they are printed, each in one line, so that none looks like another entry. */
const escaped = (result: unknown): unknown =>
  JSON.parse(JSON.stringify(result), (_, value) =>
    typeof value === "string" ? visible(value).replaceAll("\n", "\\n") : value,
  );
