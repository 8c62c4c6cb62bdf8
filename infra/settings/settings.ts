import { relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { fieldsInWords } from "../../lib/operators/issues.ts";
import { issuesOf } from "./checks.ts";
import { type Settings, shape } from "./schema.ts";

export const settingsSchema = shape.superRefine((settings, { addIssue }) => {
  for (const issue of issuesOf(settings)) addIssue({ code: "custom", ...issue });
});

/** `STAGES` names another file of settings, such as infra/stages.example.ts. */
const file = resolve(process.env.STAGES ?? `${import.meta.dirname}/../stages.ts`);

export const settingsFile = relative(`${import.meta.dirname}/../..`, file);

/** Ends the process if settings are invalid: commands load them before they can catch an error. */
function settingsOf(input: unknown): Settings {
  const { data, error } = settingsSchema.safeParse(input);
  if (data) return data;
  process.stderr.write(`${settingsFile} is invalid:\n  ${fieldsInWords(error.issues).join("\n  ")}\n`);
  process.exit(1);
}

export const settings = settingsOf((await import(pathToFileURL(file).href)).default);
