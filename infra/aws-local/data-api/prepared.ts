import type { Client } from "pg";
import { sqlState } from "./errors.ts";
import type { Limits } from "./limits.ts";
import type { BoundStatement } from "./parameters.ts";
import { type Outcome, type Prepared, run } from "./query.ts";

/** The prepared statements of one session, by text and types. */
export interface PreparedStatements {
  /** Runs a statement that only reads. */
  run(client: Client, statement: BoundStatement, limits: Limits): Promise<Outcome>;
  /** Call it after `deallocate all`. */
  clear(): void;
}

const statementsMax = 200;
/** SQLSTATE class 57: the statement was cancelled, or the server stops. */
const ending = /^57/;

export function prepareStatements(): PreparedStatements {
  const known = new Map<string, Prepared>();
  const outdated: string[] = [];
  let names = 0;

  const drop = (key: string, { name }: Prepared) => {
    known.delete(key);
    outdated.push(name);
  };

  /** Drops the statement that was used longest ago when there are too many. */
  const prepare = (key: string) => {
    const prepared = known.get(key) ?? { name: `kept_${++names}`, columns: undefined, outdated };
    known.delete(key);
    known.set(key, prepared);
    const [oldest] = known;
    if (oldest && known.size > statementsMax) drop(...oldest);
    return prepared;
  };

  return {
    async run(client, statement, limits) {
      const key = `${statement.types} ${statement.text}`;
      const prepared = prepare(key);
      try {
        return await run(client, statement, limits, prepared);
      } catch (error) {
        drop(key, prepared);
        const state = sqlState(error);
        if (state === undefined || ending.test(state)) throw error;
        // It only reads, so it can run again, unprepared: after a change of the schema that succeeds.
        return await run(client, statement, limits);
      }
    },
    clear: () => known.clear(),
  };
}
