import { type ClientBase, Pool, type PoolClient } from "pg";
import { withConnection } from "../postgres/connection.ts";
import { isAsNew, type Login, newSession, type Session, sessionOptions } from "./session.ts";

export type Sessions = ReturnType<typeof openSessions>;

const sharedMax = 20;
const idleInMilliseconds = 30_000;

/** Sessions on the server at `databaseUrl`, kept open for a while between calls of the same login. */
export function openSessions(databaseUrl: string) {
  const pools = new Map<string, Pool>();
  const all = new Map<ClientBase, Session>();

  const urlFor = (login: Login) => {
    const url = new URL(databaseUrl);
    url.pathname = `/${encodeURIComponent(login.database)}`;
    url.username = encodeURIComponent(login.username);
    url.password = encodeURIComponent(login.password);
    return url.href;
  };

  const openPool = (login: Login, max: number) => {
    const idle = { idleTimeoutMillis: idleInMilliseconds, allowExitOnIdle: true };
    const pool = new Pool({ ...sessionOptions, ...idle, connectionString: urlFor(login), max });
    // The pool removes a session that fails while it is idle.
    pool.on("error", () => {});
    pool.on("connect", (client) => {
      const session = newSession(client, login);
      all.set(client, session);
      const forget = () => {
        session.ended = true;
        all.delete(client);
      };
      client.on("error", forget).on("end", forget);
    });
    return pool;
  };

  const connect = async (login: Login, max: number): Promise<Session> => {
    const key = JSON.stringify([login.database, login.username, login.password, max]);
    const pool = pools.get(key) ?? openPool(login, max);
    pools.set(key, pool);
    const client = await pool.connect();
    const session = all.get(client);
    if (session) return session;
    // It has ended in this very moment.
    client.release(true);
    return await connect(login, max);
  };

  const end = async (session: Session) => {
    const client = session.client as PoolClient & { ref(): void; end(): Promise<void> };
    // The pool lets a process exit that has only idle sessions, but not before this one has ended.
    client.ref();
    await client.end();
  };

  return {
    /** A session for one call; waits while `sharedMax` sessions are in use. */
    acquire: (login: Login) => connect(login, sharedMax),
    /** A session for a transaction. It does not count against `sharedMax`, because transactions hold it for long. */
    dedicate: (login: Login) => connect(login, Number.POSITIVE_INFINITY),

    /** Returns a session, which others get once it is as new. */
    release: async (session: Session) => session.client.release(!(await isAsNew(session))),

    /** Stops the statement that runs on a session. */
    cancel: ({ login, processId }: Session) =>
      withConnection(urlFor(login), (client) => client.query("select pg_cancel_backend($1)", [processId])),

    async close() {
      await Promise.all([...all.values()].map(end));
    },
  };
}
