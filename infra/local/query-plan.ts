import type { Client } from "pg";
import { withConnection } from "../aws-local/postgres/connection.ts";

/**
 * Runs the statements of a file of lib/queries/statements in PostgreSQL, and rolls them back: only sequences advance.
 * @returns under the title of each statement the plans of the statements within the functions that it calls, and then
 *   its own
 */
export const plansOf = (text: string, databaseUrl: string): Promise<string> =>
  withConnection(databaseUrl, async (client) => {
    const notices: string[] = [];
    client.on("notice", ({ message = "" }) => notices.push(message));
    // Only superusers may load it. Other users get only the plan of the statement itself.
    await client.query("load 'auto_explain'").catch(() => undefined);
    // Of several releases the newest; not every user may read the table `releases`.
    const { rows } = await client.query<{ schema: string }>(
      "select nspname as schema from pg_namespace where nspname like 'changes\\_%' order by oid desc limit 1",
    );
    const plans: string[] = [];
    for (const { title, sql } of statementsIn(text, rows[0]?.schema ?? ""))
      plans.push([title, ...(await planOf(client, sql, notices))].join("\n\n"));
    return plans.join("\n\n");
  });

/** The statements, with the values that stand behind each. In a committed file `…` takes the place of times and keys. */
function statementsIn(text: string, release: string) {
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
  return text.split(/\n\n(?=-- )/).map((part) => {
    const [title = "", ...lines] = part.trimEnd().split("\n");
    const values = new Map(
      lines.flatMap((line) => [/^-- :(\d+) = (.*)$/.exec(line) ?? []].map(([, n, value]) => [n, value])),
    );
    const sql = lines
      .join("\n")
      .replace(/;\n(-- :[\s\S]*)?$/, "")
      .replaceAll(/(?<!:):(\d+)\b/g, (_, n) => `(${values.get(n)})`)
      .replaceAll(/\brelease\./g, `${release}.`)
      .replaceAll("…", inAnHour);
    return { title, sql };
  });
}

async function planOf(client: Client, sql: string, notices: string[]): Promise<string[]> {
  const explained = `explain (analyze, buffers) ${sql}`;
  // The first run fills the new session's caches of tables and functions, as they are in a session of the Data API.
  await client.query("begin");
  await client.query(explained);
  await client.query(`rollback; begin; ${showNested}`);
  notices.length = 0;
  const { rows } = await client.query<[string]>({ text: explained, rowMode: "array" });
  await client.query("rollback");
  // The last notice repeats the statement itself. Notices without text are of SQL functions that are stored parsed.
  const nestedPlans = notices.slice(0, -1).filter((each) => !/^Query Text: \nQuery Parameters/m.test(each));
  return [...nestedPlans, rows.map(([line]) => line).join("\n")];
}

const showNested = `
  set local auto_explain.log_min_duration = 0;
  set local auto_explain.log_nested_statements = on;
  set local auto_explain.log_analyze = on;
  set local auto_explain.log_buffers = on;
  set local client_min_messages = log;
`;
