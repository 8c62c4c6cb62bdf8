import { newCommand, runCommand } from "../command/command.ts";
import { print } from "../command/print.ts";
import { resultOf } from "./invoke.ts";
import { stageNamed } from "./stage.ts";

/** Invalidates what the edge of a stage has of another release. */
export async function emptyEdge(stage: string, print: (line: string) => void): Promise<void> {
  if (!stageNamed(stage).edge) return;
  await resultOf({ name: "ops/invalidate", payload: '{"everything": true}', stage, yes: true });
  print(`The edge of stage ${stage} is empty`);
}

export const command = newCommand("npm run empty-edge")
  .description("Invalidates all that the edge of a stage has cached, as after a deployment. Other stages have nothing.")
  .requiredOption("--stage <name>", "a deployed stage");

if (import.meta.main) await runCommand(command.action(async ({ stage }) => emptyEdge(stage, print)));
