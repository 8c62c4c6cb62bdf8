import { ServiceError, validation } from "../../http/service-error.ts";
import type { Limits } from "../limits.ts";
import type { Column, Outcome } from "../query.ts";
import type { ResultType } from "../types.ts";

/** The member `formattedRecords`: one string, holding an array of objects keyed by column label. */
export function formatRecords(columns: Column[], rows: Outcome["rows"], types: ResultType[], limits: Limits): string {
  const labels = columns.map(({ name }) => JSON.stringify(name));
  if (new Set(labels).size < labels.length) throw validation("The column labels of the result are not unique");
  const write = (text: string | null, index: number) =>
    `${labels[index]}:${text === null ? "null" : types[index]?.json(text)}`;
  const formatted = `[${rows.map((row) => `{${row.map(write).join()}}`).join()}]`;
  // AWS, RDS Data API: processing query results in JSON format.
  if (Buffer.byteLength(formatted) > limits.formattedBytes)
    throw new ServiceError(400, "BadRequestException", "The formatted result exceeds the size limit 10 MB.");
  return formatted;
}
