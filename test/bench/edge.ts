import { startVitest } from "vitest/node";
import type { Row } from "./measure.ts";

declare module "vitest" {
  interface TaskMeta {
    /** What a measurement of the replay has measured. */
    rows?: Row[];
  }
}

const file = "test/bench/edge.replay.ts";

/** Measures visitors and editors before the edge. Vitest runs it, since it stands on what tests start. */
export async function edge(): Promise<Row[]> {
  const vitest = await startVitest("test", [file], { include: [file], watch: false, reporters: ["default"] });
  const modules = vitest.state.getTestModules();
  await vitest.close();
  if (!modules.every((each) => each.ok())) throw new Error("The replay failed");
  return modules.flatMap(({ children }) => [...children.allTests()].flatMap((each) => each.meta().rows ?? []));
}
