import * as z from "zod/mini";
import { listedChange } from "../../lib/operators/changes-in-words.ts";
import { type ImportReport, importReport } from "../../lib/operators/import-report.ts";
import { plural } from "../../lib/operators/plural.ts";
import { type conflict, type UndoResult, undoResult } from "../../lib/operators/undo-result.ts";
import { visible } from "../command/print.ts";
import { table } from "./table.ts";

const changes = z.object({ changes: z.array(listedChange), next: z.nullable(z.number()) });

function changesInWords(result: z.output<typeof changes>, _: unknown, width: number): readonly string[] {
  if (result.changes.length === 0) return ["No changes"];
  const rows = result.changes.map((change) => [
    `${change.id}`,
    timeOf(change.at),
    userOf(change.by, change),
    cell([change.record, change.name, isNarrow(width) ? change.endpoint?.replace("/", "/\n") : change.endpoint]),
    cell([
      change.undoes && `undoes ${change.undoes.join(", ")}`,
      ...change.what,
      change.reason && `reason: ${change.reason}`,
      change.undoneBy && `undone by ${change.undoneBy}`,
    ]),
  ]);
  const more = result.next === null ? [] : ["", `There are more: add "before": ${result.next} to the payload.`];
  return [...tableOf(["id", "at", "by", "record", "what"], rows, width), ...more];
}

function undoInWords(result: UndoResult, event: unknown, width: number): readonly string[] {
  const [undone, left, done] = isDryRun(event)
    ? ["Would undo", "Would leave", "would be done"]
    : ["Undid", "Left", "done"];
  const conflictCount = new Set(result.conflicts.map(({ change }) => change)).size;
  const rows = result.undone.map((each) => [
    `${each.change}`,
    timeOf(each.at),
    userOf(each.username, each),
    cell([
      ...each.what,
      ...each.overridden.map((other) => `overrides ${conflictInWords(other)}`),
      ...each.skipped.map((other) => `skipped ${conflictInWords(other)}`),
    ]),
  ]);
  const conflicts = result.conflicts.map((each) => [
    `${each.change}`,
    each.record.replace("/", " "),
    conflictInWords(each),
  ]);
  return [
    `${undone} ${changesOf(result.undone.length)}${byChange(result.change)}`,
    ...tableOf(["id", "at", "by", done], rows, width),
    ...(conflictCount > 0
      ? ["", `${left} ${changesOf(conflictCount)}, since something is different now (or add "force": true):`]
      : []),
    ...tableOf(["id", "record", "now"], conflicts, width),
    ...(result.refused.length > 0 ? ["", `Cannot undo ${changesOf(result.refused.length)}:`] : []),
    ...tableOf(
      ["id", "why"],
      result.refused.map(({ change, reason }) => [`${change}`, reason]),
      width,
    ),
    ...(result.isDone ? [] : ["", "Some changes are left: invoke it again with the same payload."]),
  ];
}

/** `first_name: "C", by change 812 of editor, 2026-11-23 07:30:12Z` */
function conflictInWords({ field, now, reason, later }: z.output<typeof conflict>): string {
  const what = reason ?? `${field}: ${now === null ? "gone" : JSON.stringify(now)}`;
  if (later === null) return what;
  return `${what}, by change ${later.change} of ${userOf(later.username, later)}, ${timeOf(later.at)}`;
}

function importInWords(report: ImportReport, event: unknown, width: number): readonly string[] {
  const { lines, added, changed, unchanged, refusedCount, refused, isDone } = report;
  const counts = Object.entries({ added, changed, unchanged, refused: refusedCount })
    .map(([what, count]) => `${count.toLocaleString("en")} ${what}`)
    .join(", ");
  const rows = refused.map(({ line, field, reason }) => [`${line}`, field ?? "", reason]);
  const rest = refusedCount - refused.length;
  return [
    `${isDryRun(event) ? "Would import" : "Imported"} ${plural(lines, "line")}: ${counts}`,
    ...(rows.length > 0 ? ["", "Refused lines, which change nothing:"] : []),
    ...tableOf(["line", "field", "why"], rows, width),
    ...(rest > 0 ? [`and ${rest.toLocaleString("en")} more, which the log has`] : []),
    ...(isDone ? [] : ["", "Some lines are left: invoke it again with the same payload."]),
  ];
}

const dryRun = z.object({ dryRun: z.boolean() });
const isDryRun = (event: unknown): boolean => dryRun.safeParse(event).data?.dryRun ?? false;

const byChange = (id: number | undefined): string => (id === undefined ? "" : `, as change ${id}`);
const changesOf = (count: number): string => (count === 0 ? "nothing" : plural(count, "change"));
const timeOf = (at: string): string => `${new Date(at).toISOString().slice(0, 19).replace("T", " ")}Z`;
/** Another program has neither a user nor an endpoint. */
const userOf = (name: string | null, by: { userId: number | null; endpoint: string | null; role: string }): string =>
  name ?? (by.userId !== null ? `user ${by.userId}` : by.endpoint === null ? `role ${by.role}` : "an operator");

const cell = (lines: readonly unknown[]): string => lines.filter(Boolean).join("\n");

const isNarrow = (width: number): boolean => width < 100;
/** The longest endpoint fits in a record's cell. On a narrow terminal its parts are below each other, as date and time. */
const widths = (width: number): Readonly<Record<string, number>> =>
  isNarrow(width) ? { at: 10, by: 13, record: 19 } : { by: 20, record: 32 };

const tableOf = (heads: readonly string[], rows: readonly (readonly string[])[], width: number): readonly string[] =>
  rows.length === 0 ? [] : table(heads, rows, width, widths(width));

/** The lines of a result; undefined if it is not as this release returns it. */
type Format = (result: unknown, event: unknown, width: number) => readonly string[] | undefined;

/** A stage may have another release, whose results differ. */
const formatOf =
  <Schema extends z.ZodMiniType>(
    schema: Schema,
    inWords: (result: z.output<Schema>, event: unknown, width: number) => readonly string[],
  ): Format =>
  (result, event, width) => {
    const parsed = z.safeParse(schema, result);
    return parsed.success ? inWords(parsed.data, event, width) : undefined;
  };

const formats: Readonly<Record<string, Format>> = {
  "ops/import": formatOf(importReport, importInWords),
  "ops/list-changes": formatOf(changes, changesInWords),
  "ops/undo": formatOf(undoResult, undoInWords),
};

/** A result to an operator in words, for so many columns; undefined if it is to be shown as JSON. */
export function resultInWords(path: string, result: unknown, event: unknown, width: number): string | undefined {
  return formats[path]?.(escaped(result), event, width)?.join("\n");
}

/** With texts as they are printed, each in one line, so that columns fit and no record looks like another row. */
const escaped = (result: unknown): unknown =>
  JSON.parse(JSON.stringify(result), (_, value) =>
    typeof value === "string" ? visible(value).replaceAll("\n", "\\n") : value,
  );
