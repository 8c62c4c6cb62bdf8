import { fork } from "node:child_process";
import { join } from "node:path";
import { useDatabase } from "../support/environment.ts";
import { messageOf } from "./child.ts";
import type { Row } from "./measure.ts";
import { startRecorder } from "./recorder.ts";
import type { Call } from "./requests.ts";
import type { Stage } from "./stage.ts";

const calls: readonly Call[] = [
  { name: "contributors/list", query: { client: "1", limit: "50" } },
  { name: "contributor/slug", path: { slug: "made-up-777" } },
  { name: "contributor/random", query: { client: "1" } },
  { name: "admin-roles/list" },
];

/**
 * Compares the time from event to answer with that of a bare handler that sends the same statement and stringifies its
 * rows. Both call a server that repeats the Data API's answer from memory, so only the handlers' own time counts.
 */
export async function overhead(stage: Stage): Promise<Row[]> {
  const recorder = await startRecorder(stage.dataApi.url);
  const { database, outdir } = await stage.catalogue(200_000);
  useDatabase(database, recorder.url);
  const child = fork(join(import.meta.dirname, "overhead-child.ts"), [outdir, JSON.stringify(calls)], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const times = await messageOf<{ ours: number; bare: number }[]>(child);
  recorder.close();
  return calls.map(({ name }, index) => {
    const { ours, bare } = times?.[index] ?? { ours: Number.NaN, bare: 1 };
    return {
      what: `${name} (${bare.toFixed(2)} ms bare, ${ours.toFixed(2)} ms)`,
      value: ours / bare,
      unit: "x",
      bound: 1.1,
    };
  });
}
