import { Client } from "pg";
import { serviceLimits } from "../../aws-local/data-api/limits.ts";
import { bind } from "../../aws-local/data-api/parameters.ts";
import { run } from "../../aws-local/data-api/query.ts";
import type { SqlParameter } from "../../aws-local/data-api/requests.ts";

/** A statement as it is sent to the Data API. */
export interface Statement {
  readonly sql: string;
  readonly parameters: SqlParameter[];
}

/**
 * Runs a statement in PostgreSQL, and rolls it back: only sequences advance. Gives the plans of the statements within
 * the functions that it calls, and then its own.
 */
export async function planOf({ sql, parameters }: Statement, databaseUrl: string): Promise<string> {
  const { text, ...bound } = bind(sql, parameters);
  const explained = { ...bound, text: `explain (analyze, buffers) ${text}` };
  const client = new Client({ connectionString: databaseUrl });
  const notices: string[] = [];
  client.on("notice", ({ message = "" }) => notices.push(message));
  await client.connect();
  try {
    // Only superusers may load it. Other users get only the plan of the statement itself.
    await client.query("load 'auto_explain'").catch(() => undefined);
    // The first run fills the new session's caches of tables and functions, as they are in a session of the Data API.
    await client.query("begin");
    await run(client, explained, serviceLimits);
    await client.query(`rollback; begin; ${showNested}`);
    const { rows } = await run(client, explained, serviceLimits);
    // The last notice repeats the statement itself. Notices without text are of SQL functions that are stored parsed.
    const nestedPlans = notices.slice(0, -1).filter((each) => !/^Query Text: \nQuery Parameters/m.test(each));
    return [...nestedPlans, rows.map(([line]) => line).join("\n")].join("\n\n");
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
