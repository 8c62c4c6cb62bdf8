import { Client } from "pg";
import { serviceLimits } from "./data-api/limits.ts";
import { bind } from "./data-api/parameters.ts";
import { run } from "./data-api/query.ts";
import type { SqlParameter } from "./data-api/requests.ts";

/** As it travels to the Data API. */
export interface Statement {
  readonly sql: string;
  readonly parameters: SqlParameter[];
}

/**
 * Has PostgreSQL run a statement, which changes nothing but the ids that come next, and gives its plan, after those of
 * the statements within the functions that it calls.
 */
export async function planOf({ sql, parameters }: Statement, databaseUrl: string): Promise<string> {
  const { text, ...bound } = bind(sql, parameters);
  const explained = { ...bound, text: `explain (analyze, buffers) ${text}` };
  const client = new Client({ connectionString: databaseUrl });
  const nested: string[] = [];
  client.on("notice", ({ message = "" }) => nested.push(message));
  await client.connect();
  try {
    // Only superusers may, and others are shown the plan of the statement alone.
    await client.query("load 'auto_explain'").catch(() => undefined);
    // The first time is for a new session to get to know tables and functions, which others have met before.
    await client.query("begin");
    await run(client, explained, serviceLimits);
    await client.query(`rollback; begin; ${showNested}`);
    const { rows } = await run(client, explained, serviceLimits);
    // The last is the statement itself, told once more. Functions kept parsed, such as containing, have no text.
    const told = nested.slice(0, -1).filter((each) => !/^Query Text: \nQuery Parameters/m.test(each));
    return [...told, rows.map(([line]) => line).join("\n")].join("\n\n");
  } finally {
    // Nothing is committed: the transaction ends with its session.
    await client.end();
  }
}

const showNested = `
  set local auto_explain.log_min_duration = 0;
  set local auto_explain.log_nested_statements = on;
  set local auto_explain.log_analyze = on;
  set local auto_explain.log_buffers = on;
  set local client_min_messages = log;
`;
