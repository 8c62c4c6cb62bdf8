import { UsageError } from "../command/command.ts";
import { functionNameOf } from "../command/event.ts";
import { isOfDatabase } from "../settings/database-functions.ts";
import type { StageSettings } from "../settings/schema.ts";
import { settings, settingsFile } from "../settings/settings.ts";

export function stageNamed(name: string): StageSettings {
  const stage = settings.stages.find((each) => each.name === name);
  if (!stage) throw new UsageError(`There is no stage ${name} in ${settingsFile}`);
  return stage;
}

/**
 * Where a stage has a function: its name, as `colophon-prod-admin-roles-list`, and the log that it shares with the other
 * functions of its stage or database. Of operators' functions some belong to the database.
 */
export function deployedFunction(stage: StageSettings, path: string) {
  const name = functionNameOf(path);
  if (!isOfDatabase(name)) {
    return { name: `colophon-${stage.name}-${name}`, log: functionLog(stage.name), isProtected: stage.isProtected };
  }
  const database = settings.databases.find((each) => each.name === stage.database);
  return {
    name: `colophon-${stage.database}-${name}`,
    log: functionLog(databaseOwner(stage)),
    isProtected: database?.isProtected ?? true,
  };
}

export const functionLog = (owner: string): string => `/colophon/${owner}/functions`;
export const databaseOwner = ({ database }: StageSettings): string => `${database}-database`;
