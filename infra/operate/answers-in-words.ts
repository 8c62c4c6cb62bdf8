import * as z from "zod/mini";
import { table } from "./table.ts";

const changes = z.object({
  changes: z.array(
    z.object({
      id: z.number(),
      at: z.string(),
      by: z.nullable(z.string()),
      userId: z.nullable(z.number()),
      endpoint: z.string(),
      record: z.nullable(z.string()),
      name: z.nullable(z.string()),
      what: z.array(z.string()),
      undoneBy: z.nullable(z.number()),
      undoes: z.nullable(z.array(z.number())),
      reason: z.nullable(z.string()),
    }),
  ),
  next: z.nullable(z.number()),
});

function changesInWords(answer: z.output<typeof changes>, _: unknown, width: number): readonly string[] {
  if (answer.changes.length === 0) return ["No changes"];
  const rows = answer.changes.map((change) => [
    `${change.id}`,
    timeOf(change.at),
    userOf(change.by, change.userId),
    cell([change.record ?? change.endpoint, change.name]),
    cell([
      change.undoes && `undoes ${change.undoes.join(", ")}`,
      ...change.what,
      change.reason && `reason: ${change.reason}`,
      change.undoneBy && `undone by ${change.undoneBy}`,
    ]),
  ]);
  const more = answer.next === null ? [] : ["", `There are more: add "before": ${answer.next} to the payload.`];
  return [...tableOf(["id", "at", "by", "record", "what"], rows, width), ...more];
}

const timeOf = (at: string): string => `${new Date(at).toISOString().slice(0, 19).replace("T", " ")}Z`;
const userOf = (name: string | null, id: number | null): string => name ?? (id === null ? "an operator" : `user ${id}`);

const cell = (lines: readonly unknown[]): string => lines.filter(Boolean).join("\n");

/** On a narrow terminal date and time are below each other. */
const widths = (width: number): Readonly<Record<string, number>> =>
  width < 100 ? { at: 10, by: 13, record: 15 } : { by: 20, record: 30 };

function tableOf(heads: readonly string[], rows: readonly (readonly string[])[], width: number): readonly string[] {
  if (rows.length === 0) return [];
  const max = widths(width);
  return table(
    heads.map((head) => ({ head, widthMax: max[head] })),
    rows,
    width,
  );
}

/** How an answer is told, if it is as this release answers. */
type Teller = (answer: unknown, event: unknown, width: number) => readonly string[] | undefined;

/** A stage may have another release, whose answers differ. */
const teller =
  <Schema extends z.ZodMiniType>(
    schema: Schema,
    tell: (answer: z.output<Schema>, event: unknown, width: number) => readonly string[],
  ): Teller =>
  (answer, event, width) => {
    const parsed = z.safeParse(schema, answer);
    return parsed.success ? tell(parsed.data, event, width) : undefined;
  };

const tellers: Readonly<Record<string, Teller>> = {
  "ops/list-changes": teller(changes, changesInWords),
};

/** An answer to an operator in words, for so many columns; undefined if it is to be shown as JSON. */
export const answerInWords = (path: string, answer: unknown, event: unknown, width: number): string | undefined =>
  tellers[path]?.(answer, event, width)?.join("\n");
