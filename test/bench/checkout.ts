import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { comparison, rowsOf } from "./load.ts";
import type { Row } from "./measure.ts";
import { residentMegabytes } from "./processes.ts";
import { type Server, startService } from "./service.ts";

const requests = {
  list: "/contributors?client=1&limit=50",
  // Names of as many made-up contributors as in checkouts that make up other names.
  search: "/contributors?client=1&limit=50&search=oda",
  slug: "/contributor/slug/made-up-777",
};
const contributors = 25_000;
const megabytesMax = 900;

/** Compares `npm start` with that of another checkout, which has its packages, in turns. */
export async function compareCheckouts(checkout: string): Promise<Row[]> {
  const directory = await mkdtemp(join(tmpdir(), "colophon-bench-"));
  const servers: (Server & { postmaster: number })[] = [];
  const start = async (name: string, options = {}) => {
    const data = join(directory, name);
    const server = await startService(data, { flags: ["--scale", `${contributors}`], ...options });
    const [postmaster] = (await readFile(join(data, "postgres/postmaster.pid"), "utf8")).split("\n");
    servers.push({ ...server, postmaster: Number(postmaster) });
  };
  const rows: Row[] = [];
  try {
    await start("ours");
    await start("theirs", { checkout: resolve(checkout) });
    const [ours, theirs] = servers;
    if (!ours || !theirs) return rows;
    for (const connections of [16, 1]) {
      for (const [name, path] of Object.entries(requests)) {
        const compared = await comparison(ours, theirs, { path, connections });
        rows.push(...rowsOf(`${name}, ${connections} connections`, compared));
      }
      const [own, other = 0] = await Promise.all(servers.map(({ processId }) => residentMegabytes(processId)));
      rows.push({ what: `memory (theirs ${other.toFixed(0)} MB)`, value: own ?? 0, unit: "MB", bound: megabytesMax });
    }
  } finally {
    await Promise.all(servers.map((server) => server.close()));
    await rm(directory, { recursive: true });
  }
  return rows;
}
