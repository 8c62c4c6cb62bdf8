import { Client, type QueryResult } from "pg";
import { type PreparedStatements, prepareStatements } from "./prepared.ts";

/** The database and the user of a session. */
export interface Login {
  readonly database: string;
  readonly username: string;
  readonly password: string;
}

/** A connection to one database, used by one call or one transaction at a time. */
export interface Session {
  client: Client;
  login: Login;
  processId: number;
  statements: PreparedStatements;
  /** The statement that runs; after a timeout it may still run. */
  running: Promise<unknown> | undefined;
  ended: boolean;
}

export interface Sessions {
  /** A session for one call; waits while `sharedMax` sessions are in use. */
  acquire(login: Login): Promise<Session>;
  /** A session for a transaction. It does not count against `sharedMax`, because transactions hold it for long. */
  dedicate(login: Login): Promise<Session>;
  /** Returns a session, and resets it unless the call only read. */
  release(session: Session, hasOnlyRead?: boolean): Promise<void>;
  /** Stops the statement that runs on a session. */
  cancel(session: Session): Promise<void>;
  closeDatabase(database: string): Promise<void>;
  close(): Promise<void>;
}

interface Pool {
  idle: { session: Session; timer: NodeJS.Timeout }[];
  shared: Set<Session>;
  opening: number;
  waiting: (() => void)[];
}

const sharedMax = 20;
const idleInMilliseconds = 30_000;

/** Sessions on the server at `databaseUrl`, kept open for a while between calls of the same login. */
export function openSessions(databaseUrl: string): Sessions {
  const pools = new Map<string, Pool>();
  const all = new Set<Session>();
  let closed = false;

  const poolOf = ({ database, username, password }: Login) => {
    const key = JSON.stringify([database, username, password]);
    const pool = pools.get(key) ?? { idle: [], shared: new Set(), opening: 0, waiting: [] };
    pools.set(key, pool);
    return pool;
  };

  const open = async (login: Login) => {
    const session = await connect(databaseUrl, login);
    all.add(session);
    session.client.on("end", () => forget(session));
    return session;
  };

  const forget = (session: Session) => {
    const pool = poolOf(session.login);
    session.ended = true;
    all.delete(session);
    pool.idle = pool.idle.filter((entry) => entry.session !== session);
    pool.shared.delete(session);
    wakeNext(pool);
  };

  const takeIdle = (pool: Pool): Session | undefined => {
    const entry = pool.idle.pop();
    clearTimeout(entry?.timer);
    return entry?.session.ended ? takeIdle(pool) : entry?.session;
  };

  const keep = (pool: Pool, session: Session) => {
    const timer = setTimeout(() => end(session), idleInMilliseconds).unref();
    pool.idle.push({ session, timer });
    wakeNext(pool);
  };

  const openShared = async (pool: Pool, login: Login) => {
    pool.opening += 1;
    try {
      return await open(login);
    } catch (error) {
      wakeNext(pool);
      throw error;
    } finally {
      pool.opening -= 1;
    }
  };

  const sessions: Sessions = {
    async acquire(login) {
      const pool = poolOf(login);
      while (pool.idle.length === 0 && pool.shared.size + pool.opening >= sharedMax)
        await new Promise<void>((resume) => pool.waiting.push(resume));
      const session = takeIdle(pool) ?? (await openShared(pool, login));
      pool.shared.add(session);
      return session;
    },

    async dedicate(login) {
      return takeIdle(poolOf(login)) ?? open(login);
    },

    async release(session, hasOnlyRead = false) {
      const pool = poolOf(session.login);
      try {
        await session.running;
        if (!session.ended && !hasOnlyRead) await reset(session);
      } catch {
        await end(session);
      }
      pool.shared.delete(session);
      if (closed) await end(session);
      else if (session.ended) wakeNext(pool);
      else keep(pool, session);
    },

    async cancel({ login, processId }) {
      const other = await sessions.dedicate(login);
      try {
        await other.client.query("select pg_catalog.pg_cancel_backend($1)", [processId]);
      } finally {
        void sessions.release(other);
      }
    },

    async closeDatabase(database) {
      await Promise.all([...all].filter(({ login }) => login.database === database).map(end));
    },

    async close() {
      closed = true;
      await Promise.all([...all].map(end));
    },
  };
  return sessions;
}

const wakeNext = (pool: Pool) => pool.waiting.shift()?.();

async function connect(databaseUrl: string, login: Login): Promise<Session> {
  const url = new URL(databaseUrl);
  url.pathname = `/${encodeURIComponent(login.database)}`;
  url.username = encodeURIComponent(login.username);
  url.password = encodeURIComponent(login.password);
  // The service's sessions run in UTC; the other options give values the format that results.ts reads.
  const options = "-c TimeZone=UTC -c DateStyle=ISO -c bytea_output=hex -c extra_float_digits=1";
  const client = new Client({ connectionString: url.href, application_name: "data-api", options });
  const statements = prepareStatements();
  const session: Session = { client, login, processId: 0, statements, running: undefined, ended: false };
  client.on("error", () => {
    session.ended = true;
  });
  await client.connect();
  session.processId = (client as unknown as { processID: number }).processID;
  return session;
}

/**
 * On the service each call may use another session. So settings, prepared statements and temporary tables are removed
 * here. The plans of PostgreSQL functions stay, because they do not change results.
 * @throws if a transaction is open; the session is then closed
 */
async function reset({ client, statements }: Session): Promise<void> {
  if (client.getTransactionStatus() !== "I") throw new Error("A transaction was left open");
  const results: unknown = await client.query(
    `close all; unlisten *; reset session authorization; reset all;
     select pg_catalog.pg_advisory_unlock_all(); discard sequences; discard temp;
     select from pg_catalog.pg_prepared_statements where from_sql limit 1`,
  );
  const prepared = (results as QueryResult[]).at(-1);
  if (!prepared?.rowCount) return;
  await client.query("deallocate all");
  statements.clear();
}

async function end(session: Session): Promise<void> {
  session.ended = true;
  await session.client.end().catch(() => {});
}
