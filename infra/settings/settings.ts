import type * as z from "zod";
import { fieldsInWords } from "../../lib/operators/issues.ts";
import { issuesOf } from "./checks.ts";
import { type Settings, shape } from "./schema.ts";

export const settingsSchema = shape.superRefine((settings, { addIssue }) => {
  for (const issue of issuesOf(settings)) addIssue({ code: "custom", ...issue });
});

/** Ends the process if settings are invalid: commands load them before they can catch an error. */
export function settingsOf(input: z.input<typeof settingsSchema>): Settings {
  const { data, error } = settingsSchema.safeParse(input);
  if (data) return data;
  process.stderr.write(`infra/stages.ts is invalid:\n  ${fieldsInWords(error.issues).join("\n  ")}\n`);
  process.exit(1);
}
