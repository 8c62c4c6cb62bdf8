import type { Client } from "pg";
import { sqlState } from "./errors.ts";
import type { Limits } from "./limits.ts";
import type { BoundStatement } from "./parameters.ts";
import { type Outcome, type Prepared, run } from "./query.ts";

/** What one session has prepared, by text and types. */
export interface PreparedStatements {
  /** Runs a statement that only reads. */
  run(client: Client, statement: BoundStatement, limits: Limits): Promise<Outcome>;
  /** After the session has lost them. */
  clear(): void;
}

const statementsMax = 200;
/** Somebody has it cancelled, or the server ends. */
const ending = /^57/;

export function prepareStatements(): PreparedStatements {
  const known = new Map<string, Prepared>();
  const outdated: string[] = [];
  let names = 0;

  const drop = (key: string, { name }: Prepared) => {
    known.delete(key);
    outdated.push(name);
  };

  /** The one used longest ago makes room. */
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
        // It only reads, so it can run once more: the schema has moved on, or else it fails as if it had no name.
        return await run(client, statement, limits);
      }
    },
    clear: () => known.clear(),
  };
}
