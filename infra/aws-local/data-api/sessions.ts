import { isAsNew, type Login, openSession, type Session } from "./session.ts";

export interface Sessions {
  /** A session for one call; waits while `sharedMax` sessions are in use. */
  acquire(login: Login): Promise<Session>;
  /** A session for a transaction. It does not count against `sharedMax`, because transactions hold it for long. */
  dedicate(login: Login): Promise<Session>;
  /** Returns a session, which others get once it is as new. */
  release(session: Session): Promise<void>;
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
    const session = await openSession(databaseUrl, login);
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

    async release(session) {
      const pool = poolOf(session.login);
      const isUsable = (await isAsNew(session)) && !closed;
      pool.shared.delete(session);
      if (isUsable) {
        const timer = setTimeout(() => end(session), idleInMilliseconds).unref();
        pool.idle.push({ session, timer });
      } else await end(session);
      wakeNext(pool);
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

async function end(session: Session): Promise<void> {
  session.ended = true;
  await session.client.end().catch(() => {});
}
