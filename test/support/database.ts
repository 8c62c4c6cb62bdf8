import { type ClientBase, escapeIdentifier, Pool, types } from "pg";
import template, { type Sql as Fragment, join, type RawValue, raw } from "sql-template-tag";

// biome-ignore lint/suspicious/noExplicitAny: tests know what their statements select
type Rows = Record<string, any>[];

/** A database, or a transaction in it. */
export interface Sql {
  /** Runs a statement with its values as parameters, and gives its rows: `` await sql`select ${1}::int as one` ``. */
  <Selected = Rows>(strings: readonly string[], ...values: readonly RawValue[]): Promise<Selected>;
  /** Runs a text that is put together; without parameters it may be several statements. */
  query<Selected = Rows>(text: string, parameters?: unknown[]): Promise<Selected>;
  /** Runs statements in a transaction, which is rolled back when `work` fails. */
  begin<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
  end(): Promise<void>;
}

export interface DatabaseOptions {
  /** The number of connections, which are opened when they are needed. Default: 4. */
  readonly max?: number;
  /** PostgreSQL's settings of each connection. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Opens a database; ids and counts are read as numbers, as in the interface. */
export function openDatabase(connectionString: string, { max = 4, settings = {} }: DatabaseOptions = {}): Sql {
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  const pool = new Pool({ connectionString, max, options: options.join(" "), types: { getTypeParser } });
  // Some tests end idle connections.
  pool.on("error", () => {});
  return over(pool, () => pool.end());
}

/** The values of one row, or of one column. */
export const values = async (rows: Promise<readonly object[]>) => (await rows).flatMap(Object.values);

/** The name of a table, column or other thing in a statement. */
export const identifier = (name: string): Fragment => raw(escapeIdentifier(name));

/** The columns of an `insert` and their values. */
export const row = (columns: Readonly<Record<string, RawValue>>): Fragment =>
  template`(${join(Object.keys(columns).map(identifier))}) values (${join(Object.values(columns))})`;

const getTypeParser = (...[id, format]: Parameters<typeof types.getTypeParser>) =>
  id === types.builtins.INT8 ? Number : types.getTypeParser(id, format);

function over(connection: Pool | ClientBase, end: () => Promise<void>): Sql {
  const query = async (...statement: [string | Fragment, unknown[]?]) => {
    const result = await connection.query(...(statement as [string, unknown[]?]));
    return result.rows;
  };
  const begin = async <Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> => {
    if (!(connection instanceof Pool)) return await work(over(connection, end));
    const client = await connection.connect();
    try {
      await client.query("begin");
      const result = await work(over(client, end));
      await client.query("commit");
      return result;
    } catch (error) {
      await client.query("rollback").catch(() => {});
      throw error;
    } finally {
      client.release();
    }
  };
  const tag = (strings: readonly string[], ...values: readonly RawValue[]) => query(template(strings, ...values));
  return Object.assign(tag, { query, begin, end }) as Sql;
}
