import { empty } from "sql-template-tag";
import * as z from "zod/mini";
import { readText } from "../../data-api/chunks.ts";
import * as changes from "../../queries/changes.ts";
import type { NameOf } from "./changes-in-words.ts";

const namesSchema = z.record(z.string(), z.string());

/** Describes something with the names of records: once to learn which it needs, and once more when they are read. */
export async function readNames<Result>(describe: (nameOf: NameOf) => Result, deadline: number): Promise<Result> {
  const records = new Set<string>();
  describe((record) => void records.add(record));
  const found = await readText(changes.namesOf([...records]), empty, deadline);
  const names = namesSchema.parse(JSON.parse(found?.text ?? "{}"));
  return describe((record) => names[record]);
}
