import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type Postgres,
  type PostgresOptions,
  runningPostgres,
  startPostgres,
} from "../../../../infra/aws-local/postgres/server.ts";
import { copyEmptyCluster } from "../../../support/empty-cluster.ts";

let directory: string;
const servers: Postgres[] = [];

beforeEach(async () => {
  directory = join(await mkdtemp(join(tmpdir(), "colophon-postgres-")), "data");
});

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  await rm(join(directory, ".."), { recursive: true });
});

async function start(options: Partial<PostgresOptions> = {}): Promise<Postgres> {
  const server = await startPostgres({ directory, durable: false, ...options });
  servers.push(server);
  return server;
}

async function ask(server: Postgres, statement: string): Promise<unknown> {
  const sql = postgres(`${server.url}/postgres`, { max: 1 });
  try {
    const [row] = await sql.unsafe(statement);
    return row && Object.values(row)[0];
  } finally {
    await sql.end();
  }
}

/** Another process that starts PostgreSQL in the directory, writes there, and then waits to be killed. */
async function startElsewhere(): Promise<ChildProcess> {
  const script = join(directory, "..", "elsewhere.ts");
  const path = (file: string) => JSON.stringify(join(import.meta.dirname, "../../../..", file));
  await writeFile(
    script,
    `import { startPostgres } from ${path("infra/aws-local/postgres/server.ts")};
     import postgres from ${path("node_modules/postgres/src/index.js")};
     const server = await startPostgres({ directory: ${JSON.stringify(directory)} });
     const sql = postgres(server.url + "/postgres", { max: 1 });
     await sql\`create table note as select 'kept' as text\`;
     console.log("ready");
     setInterval(() => {}, 1000);`,
  );
  const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise((resolve) => child.stdout?.once("data", resolve));
  return child;
}

const serverIn = async () => Number((await readFile(join(directory, "postmaster.pid"), "utf8")).split("\n")[0]);

/** Empty for a process that has ended, reaped or not. */
const commandOf = (id: number) => readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "");

describe("runningPostgres", () => {
  beforeEach(() => copyEmptyCluster(directory));

  it("finds the server of a directory while it runs", async () => {
    const server = await start();

    expect(await runningPostgres(directory)).toBe(server.url);
    await server.stop();
    await expect(runningPostgres(directory)).rejects.toThrow("is npm start running?");
  });
});

describe("startPostgres", () => {
  it("starts PostgreSQL 18 in UTF-8, ordering text as Aurora does", async () => {
    const server = await start();

    expect(await ask(server, "show server_version")).toMatch(/^18\./);
    expect(await ask(server, "show server_encoding")).toBe("UTF8");
    expect(await ask(server, "select datlocale from pg_database where datname = 'postgres'")).toBe("en-US");
    expect(await ask(server, "select 'a' < 'B'")).toBe(true);
    expect(server.url).toMatch(/^postgres:\/\/postgres:\w{32}@127\.0\.0\.1:\d+$/);
  });

  it("can have another locale", async () => {
    const server = await start({ locale: "icu:sv" });

    expect(await ask(server, "select 'ö' > 'z'")).toBe(true);
    expect(await ask(server, "select 'a' < 'B'")).toBe(true);
  });

  it("starts over when it was killed while it made the cluster", async () => {
    await mkdir(join(`${directory}.unfinished`, "cluster", "base"), { recursive: true });

    expect(await ask(await start(), "select 1")).toBe(1);
    expect(existsSync(`${directory}.unfinished`)).toBe(false);
  });

  it("fails with the error of initdb", async () => {
    await expect(start({ locale: "xx_XX" })).rejects.toThrow(/initdb failed.*invalid locale name "xx_XX"/s);
  });
});

describe("startPostgres over a cluster", () => {
  beforeEach(() => copyEmptyCluster(directory));

  it("keeps its data from one start to the next", async () => {
    const first = await start();
    await ask(first, "create table note as select 'kept' as text");
    await first.stop();
    const second = await start();

    expect(await ask(second, "select text from note")).toBe("kept");
  });

  it("is durable by default", async () => {
    const durable = await start({ durable: true });
    expect(await ask(durable, "show fsync")).toBe("on");
    expect(await ask(durable, "show synchronous_commit")).toBe("on");
    await durable.stop();

    expect(await ask(await start({ durable: false }), "show fsync")).toBe("off");
  });

  it("loses nothing when its process is killed, and is not left running", async () => {
    const elsewhere = await startElsewhere();
    const server = await serverIn();
    elsewhere.kill("SIGKILL");

    expect(await ask(await start(), "select text from note")).toBe("kept");
    await expect.poll(() => commandOf(server)).toBe("");
  });

  it("ends by itself when its process is killed", async () => {
    const elsewhere = await startElsewhere();
    const server = await serverIn();
    elsewhere.kill("SIGKILL");

    await expect.poll(() => existsSync(join(directory, "postmaster.pid"))).toBe(false);
    await expect.poll(() => commandOf(server)).toBe("");
  });

  it("recovers when PostgreSQL itself is killed as well", async () => {
    const elsewhere = await startElsewhere();
    process.kill(await serverIn(), "SIGKILL");
    elsewhere.kill("SIGKILL");

    expect(await ask(await start(), "select text from note")).toBe("kept");
  });

  it("refuses a directory that a living process uses", async () => {
    await start();

    await expect(startPostgres({ directory })).rejects.toThrow(`${directory} is in use by process ${process.pid}`);
  });

  it("does not end another process that has the id of a former server", async () => {
    const stranger = spawn("sleep", ["60"]);
    await (await start()).stop();
    await writeFile(join(directory, "postmaster.pid"), `${stranger.pid}\n${directory}\n`);
    await start().catch(() => {});

    expect(stranger.exitCode ?? stranger.signalCode).toBe(null);
    stranger.kill();
  });
});
