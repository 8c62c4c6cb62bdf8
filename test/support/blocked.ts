import { expect, inject } from "vitest";
import { openDatabase, type Sql } from "./database.ts";

/** Waits until a statement in the database waits for a lock. */
export async function untilBlocked(sql: Sql): Promise<void> {
  const blocked = () => sql`
    select from pg_locks join pg_stat_activity using (pid) where datname = current_database() and not granted
  `;
  await expect.poll(blocked, { interval: 5, timeout: 30_000 }).not.toEqual([]);
}

/** Ends the session that waits for a lock in a statement like this, once there is one. */
export const killBlocked = (sql: Sql, statement: string): Promise<void> =>
  asSuperuser(sql, async (superuser) => {
    const kill = () => superuser`
      select pg_terminate_backend(pid, 10000)
      from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like ${`%${statement}%`}
    `;
    await expect.poll(kill, { timeout: 30_000 }).not.toEqual([]);
  });

/** Ends the sessions of a login in the database: the next ones have its settings. */
export const endSessions = (sql: Sql, role: string): Promise<void> =>
  asSuperuser(sql, async (superuser) => {
    await superuser`
      select pg_terminate_backend(pid, 10000)
      from pg_stat_activity
      where datname = current_database() and usename = ${role}
    `;
  });

/** Only a superuser may end others' sessions. */
async function asSuperuser(sql: Sql, work: (superuser: Sql) => Promise<void>): Promise<void> {
  const [{ name = "" } = {}] = await sql`select current_database() as name`;
  const superuser = openDatabase(`${inject("databaseUrl")}/${name}`, { max: 1 });
  await work(superuser).finally(() => superuser.end());
}
