import { expect } from "vitest";
import type { Sql } from "./database.ts";

/** Waits until a statement in the database waits for a lock. */
export const untilBlocked = (sql: Sql): Promise<void> =>
  expect
    .poll(
      () => sql`
        select from pg_locks join pg_stat_activity using (pid) where datname = current_database() and not granted
      `,
      { interval: 5, timeout: 30_000 },
    )
    .not.toEqual([]);
