import { runCommand, UsageError } from "../command/command.ts";
import { print } from "../command/print.ts";
import { resultOf } from "./invoke.ts";
import { stageNamed } from "./stage.ts";

const usage =
  "npm run empty-edge -- --stage NAME\n" +
  "  invalidates all that the edge of a stage has cached, as after a deployment; a stage without an edge has nothing";

/** Invalidates what the edge of a stage has of another release. */
export async function emptyEdge(stage: string, print: (line: string) => void): Promise<void> {
  if (!stageNamed(stage).edge) return;
  await resultOf({ name: "ops/invalidate", payload: '{"everything": true}', stage, yes: true });
  print(`The edge of stage ${stage} is empty`);
}

export const syntax = { usage, flags: { stage: { type: "string" } } } as const;

if (import.meta.main) {
  await runCommand(syntax, async ({ stage }) => {
    if (stage === undefined) throw new UsageError("--stage is missing");
    await emptyEdge(stage, print);
  });
}
