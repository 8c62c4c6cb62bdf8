import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { runningPostgres, stateFile } from "./cluster.ts";
import { withConnection } from "./connection.ts";
import { createOwnedDatabase } from "./database-owner.ts";
import { type Postgres, type PostgresOptions, startPostgres } from "./server.ts";
import { supervisePostgres } from "./supervise.ts";

let parent: string;
let directory: string;
const servers: Pick<Postgres, "stop">[] = [];

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "aws-local-postgres-"));
  directory = join(parent, "empty");
  const empty = await start();
  await empty.stop();
});

beforeEach(() => {
  directory = join(parent, "data");
});

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  await rm(directory, { recursive: true, force: true });
});

afterAll(() => rm(parent, { recursive: true }));

async function start(options: Partial<PostgresOptions> = {}): Promise<Postgres> {
  const server = await startPostgres({ directory, durable: false, ...options });
  servers.push(server);
  return server;
}

const ask = (url: string, statement: string, database = "postgres"): Promise<unknown> =>
  withConnection(`${url}/${database}`, async (client) => {
    const { rows } = await client.query({ text: statement, rowMode: "array" });
    return rows[0]?.[0];
  });

/** Another process that starts PostgreSQL in the directory, writes there, and then waits to be killed. */
async function startElsewhere(): Promise<ChildProcess> {
  const script = join(parent, "elsewhere.ts");
  const url = (file: string) => JSON.stringify(import.meta.resolve(file));
  await writeFile(
    script,
    `import { startPostgres } from ${url("./server.ts")};
     import pg from ${url("pg")};
     const server = await startPostgres({ directory: ${JSON.stringify(directory)} });
     const client = new pg.Client(server.url + "/postgres");
     await client.connect();
     await client.query("create table note as select 'kept' as text");
     client.on("error", () => {});
     console.log("ready");
     setInterval(() => {}, 1000);`,
  );
  const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise((resolve) => child.stdout?.once("data", resolve));
  return child;
}

const serverIn = async () => Number((await readFile(stateFile(directory), "utf8")).split("\n")[0]);

/** Empty for a process that has ended, reaped or not. */
const commandOf = (id: number) => readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "");

describe("startPostgres without a cluster", () => {
  it("makes one in UTF-8, ordering text as Aurora does, even if it was killed over it before", async () => {
    await mkdir(join(`${directory}.unfinished`, "cluster", "base"), { recursive: true });
    const { url } = await start();

    expect(await ask(url, "show server_version")).toMatch(/^18\./);
    expect(await ask(url, "show server_encoding")).toBe("UTF8");
    expect(await ask(url, "select datlocale from pg_database where datname = 'postgres'")).toBe("en-US");
    expect(await ask(url, "select 'a' < 'B'")).toBe(true);
    expect(url).toMatch(/^postgres:\/\/postgres:\w{32}@127\.0\.0\.1:\d+$/);
    expect(existsSync(`${directory}.unfinished`)).toBe(false);
  });
});

describe("startPostgres over a cluster", () => {
  beforeEach(() => void execFileSync("cp", ["-a", join(parent, "empty"), directory]));

  it("keeps data from one start to the next, durably unless told otherwise", async () => {
    const first = await startPostgres({ directory });
    servers.push(first);
    expect(await ask(first.url, "select current_setting('fsync') || current_setting('synchronous_commit')")).toBe(
      "onon",
    );
    expect(await runningPostgres(directory)).toBe(first.url);
    await ask(first.url, "create table note as select 'kept' as text");
    await first.stop();
    await expect(runningPostgres(directory)).rejects.toThrow("is npm start running?");
    const second = await start();

    expect(await ask(second.url, "select text from note")).toBe("kept");
    expect(await ask(second.url, "show fsync")).toBe("off");
  });

  it("ends by itself when its process is killed, without losing anything", async () => {
    const elsewhere = await startElsewhere();
    const server = await serverIn();
    elsewhere.kill("SIGKILL");

    await expect.poll(() => existsSync(stateFile(directory))).toBe(false);
    await expect.poll(() => commandOf(server)).toBe("");
    expect(await ask((await start()).url, "select text from note")).toBe("kept");
  });

  it("starts at once after that, and after a kill of PostgreSQL", async () => {
    const elsewhere = await startElsewhere();
    const server = await serverIn();
    process.kill(server, "SIGKILL");
    elsewhere.kill("SIGKILL");

    expect(await ask((await start()).url, "select text from note")).toBe("kept");
    await expect.poll(() => commandOf(server)).toBe("");
  });

  it("refuses a directory that a living process uses", async () => {
    await start();

    await expect(startPostgres({ directory })).rejects.toThrow(`${directory} is in use by process ${process.pid}`);
  });

  it("does not end another process that has the id of a former server", async () => {
    const stranger = spawn("sleep", ["60"]);
    await writeFile(stateFile(directory), `${stranger.pid}\n${directory}\n0\n1\n`);
    await start().catch(() => {});

    expect(stranger.exitCode ?? stranger.signalCode).toBe(null);
    stranger.kill();
  });
});

describe("supervisePostgres", () => {
  beforeEach(() => void execFileSync("cp", ["-a", join(parent, "empty"), directory]));

  it("starts it again on its port, three times a minute", async () => {
    const lines: string[] = [];
    const { promise: reason, resolve: onExit } = Promise.withResolvers<string>();
    const server = await supervisePostgres({ directory }, (line) => lines.push(line), onExit);
    servers.push(server);

    for (const times of [1, 2, 3]) {
      process.kill(await serverIn(), "SIGKILL");
      await expect.poll(() => lines.length).toBe(2 * times);
      expect(await ask(server.url, "select 1")).toBe(1);
    }
    process.kill(await serverIn(), "SIGKILL");
    expect(await reason).toBe("PostgreSQL has ended more than 3 times within a minute");
    expect(lines.slice(-2)).toEqual(["PostgreSQL has ended and is started again", "PostgreSQL is up again"]);
  });
});

describe("The database's owner", () => {
  let server: Postgres;

  beforeAll(async () => {
    execFileSync("cp", ["-a", join(parent, "empty"), join(parent, "owned")]);
    server = await startPostgres({ directory: join(parent, "owned"), durable: false });
  });

  afterAll(() => server.stop());

  it("reaches neither programs nor files", async () => {
    const url = await createOwnedDatabase(server.url, "shut", "colophon");

    for (const statement of [
      "copy (select 1) to program 'true'",
      `copy (select 1) to '${join(parent, "written")}'`,
      "select pg_read_file('postgresql.conf')",
      "set role postgres",
      "alter role colophon superuser",
      "alter system set archive_command = 'true'",
    ])
      await expect(ask(url, statement, "shut"), statement).rejects.toThrow(/permission denied/);
    await expect(ask(url, "select 1")).rejects.toThrow("permission denied for database");
  });

  it("has a new password at each start", async () => {
    const earlier = await createOwnedDatabase(server.url, "again", "colophon");
    const now = await createOwnedDatabase(server.url, "again", "colophon");

    expect(await ask(now, "select 1", "again")).toBe(1);
    await expect(ask(earlier, "select 1", "again")).rejects.toThrow("password authentication failed");
  });
});
