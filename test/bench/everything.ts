import { fork } from "node:child_process";
import { join } from "node:path";
import { useDatabase } from "../support/environment.ts";
import { messageOf } from "./child.ts";
import type { Row } from "./measure.ts";
import type { Stage } from "./stage.ts";

interface Report {
  readonly grownBytes: number;
  readonly records: number;
  readonly milliseconds: number;
}

/** Requests all contributors at once, in a process that does nothing else, so that its memory can be measured. */
export async function everything(stage: Stage): Promise<Row[]> {
  const { database, outdir } = await stage.catalogue(200_000);
  useDatabase(database, stage.dataApi.url);
  const child = fork(join(import.meta.dirname, "everything-child.ts"), [outdir], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const report = await messageOf<Report>(child);
  return [
    { what: "records in one answer, valid and complete", value: report.records, unit: "" },
    { what: "seconds for them", value: report.milliseconds / 1000, unit: "s" },
    { what: "memory grows meanwhile by", value: report.grownBytes / 1024 ** 2, unit: "MB", bound: 64 },
  ];
}
