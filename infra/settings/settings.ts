import type * as z from "zod";
import { fieldsInWords } from "../../lib/operators/issues.ts";
import { checks } from "./checks.ts";
import { type Settings, shape } from "./schema.ts";

export const settingsSchema = shape.superRefine((settings, { addIssue }) => {
  for (const { path = [], message } of checks.flatMap((check) => check(settings)))
    addIssue({ code: "custom", path: [...path], message });
});

/** Ends the process if settings are invalid: commands load them before they can catch an error. */
export function settingsOf(input: z.input<typeof settingsSchema>): Settings {
  const { data, error } = settingsSchema.safeParse(input);
  if (data) return data;
  process.stderr.write(`infra/stages.ts is invalid:\n  ${fieldsInWords(error.issues, "settings").join("\n  ")}\n`);
  process.exit(1);
}
