import { readdir, readFile } from "node:fs/promises";

/** Clock ticks a second in Linux's `/proc`. */
const ticks = 100;

/** CPU seconds of a process, the sum of all its threads. NaN without Linux's `/proc`. */
export async function processorSeconds(processId: number): Promise<number> {
  return (await read(`${processId}`))?.own ?? Number.NaN;
}

/** The memory of a process. NaN without Linux's `/proc`. */
export async function residentMegabytes(processId: number): Promise<number> {
  const status = await readFile(`/proc/${processId}/status`, "utf8").catch(() => "");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1_024;
}

/** CPU seconds of all backends of a PostgreSQL, including those that have ended. */
export async function postgresSeconds(postmaster: number): Promise<number> {
  const ids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const all = await Promise.all(ids.map(read));
  const backends = all.filter((each) => each?.parent === postmaster);
  const ended = (await read(`${postmaster}`))?.ended ?? Number.NaN;
  return backends.reduce((sum, each) => sum + (each?.own ?? 0), ended);
}

/** A process, with the CPU seconds of itself, and of its children that have ended. */
async function read(id: string) {
  const text = await readFile(`/proc/${id}/stat`, "utf8").catch(() => "");
  // The second field is a name in brackets, which may itself contain spaces and brackets.
  const fields = text
    .slice(text.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  const [, parent, , , , , , , , , , user, system, endedUser, endedSystem] = fields;
  if (text === "" || parent === undefined) return undefined;
  return {
    parent,
    own: ((user ?? 0) + (system ?? 0)) / ticks,
    ended: ((endedUser ?? 0) + (endedSystem ?? 0)) / ticks,
  };
}
