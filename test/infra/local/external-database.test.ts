import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Postgres } from "../../../infra/aws-local/postgres/server.ts";
import { openDatabase } from "../../support/database.ts";
import { startEmptyPostgres } from "../../support/empty-cluster.ts";
import { startProcess } from "../../support/service-process.ts";

let directory: string;
let server: Postgres;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "colophon-external-"));
  server = await startEmptyPostgres({ directory: join(directory, "postgres"), durable: false });
});

afterAll(async () => {
  await server.stop();
  await rm(directory, { recursive: true });
});

/** `npm start` over a database of the server, without a terminal. */
const startOver = (name: string, ...flags: string[]) =>
  startProcess({ flags: ["--empty", ...flags], env: { COLOPHON_DATABASE_URL: `${server.url}/${name}` } });

async function databases(): Promise<string[]> {
  const sql = openDatabase(`${server.url}/postgres`, { max: 1 });
  const rows = await sql<{ datname: string }[]>`select datname from pg_database`;
  await sql.end();
  return rows.map(({ datname }) => datname);
}

describe("A database that does not exist on another server", () => {
  it("is not created without a terminal where one could agree", async () => {
    await expect(startOver("catalog")).rejects.toThrow(
      /^There is no database catalog; npm start -- --create creates it\n$/,
    );

    expect(await databases()).not.toContain("catalog");
  });

  it("is created with --create, and then used without", async () => {
    const first = await startOver("catalogue", "--create");
    await first.stop();
    const second = await startOver("catalogue");
    const { status } = await fetch(`${second.url}/publishers`);
    await second.stop();

    expect(status).toBe(200);
    expect(await databases()).toContain("catalogue");
  });
});
