import { setFlagsFromString } from "node:v8";
import { loadModule, parsePlPgSQLSync } from "libpg-query";
import type { Client, DatabaseError } from "pg";
import type { Script } from "../../lib/migrations/script.ts";
import { positionOf } from "./position.ts";

interface Variable {
  readonly name: string;
  readonly type: string;
}

interface DatabaseFunction {
  readonly name: string;
  readonly text: string;
  readonly parameters: readonly Variable[];
  /** What the triggers give that call it: `new` and `old`, or tables of rows. */
  readonly transitions: readonly Variable[];
}

/** What libpg_query's tree of a PL/pgSQL function has, as far as it is looked at. */
interface Node {
  readonly PLpgSQL_expr?: { readonly query: string; readonly parseMode?: number };
  readonly PLpgSQL_var?: Datum;
  readonly PLpgSQL_rec?: Datum;
}

interface Datum {
  readonly refname: string;
  readonly datatype?: { readonly PLpgSQL_type: { readonly typname: string } };
}

function* nodesOf(tree: unknown): Generator<Node> {
  if (typeof tree !== "object" || tree === null) return;
  yield tree;
  for (const each of Object.values(tree)) yield* nodesOf(each);
}

/** The statements of a function, and its expressions and assignments as selects. */
function statementsOf(tree: unknown): string[] {
  return [...nodesOf(tree)].flatMap(({ PLpgSQL_expr: expression }) => {
    if (!expression) return [];
    const { query, parseMode = 0 } = expression;
    if (parseMode === 0) return [query];
    const [, target, value] = (parseMode > 2 && /^([\w.]+) :?= (.*)$/s.exec(query)) || [];
    return [`select ${target === undefined ? query : `${target}\n, (${value}\n)`}`];
  });
}

const variablesOf = (tree: unknown): Variable[] =>
  [...nodesOf(tree)].flatMap(({ PLpgSQL_var, PLpgSQL_rec }) => {
    const datum = PLpgSQL_var ?? PLpgSQL_rec;
    return datum?.datatype ? [{ name: datum.refname, type: datum.datatype.PLpgSQL_type.typname }] : [];
  });

/**
 * The tables, columns and functions that do not exist and that PL/pgSQL functions name, also in branches that never run.
 * PostgreSQL looks names up there only when a statement runs, but in an SQL function when it is created. So each
 * statement is created as an SQL function that has the variables as its parameters, and all is rolled back.
 * @param schema of the functions of this release; `public` has those of triggers
 * @param files that create the functions
 */
export async function unknownNames(client: Client, schema: string, files: readonly Script[]): Promise<string[]> {
  // Otherwise V8 would optimize in the background what runs once, which takes half a second of CPU.
  setFlagsFromString("--liftoff-only");
  await loadModule();
  await client.query(`begin; set local search_path = ${schema}, public`);
  const { rows } = await client.query<DatabaseFunction>(functionsIn, [schema]);
  const problems: string[] = [];
  for (const each of rows) problems.push(...(await unknownIn(client, each, files)));
  await client.query("rollback");
  return problems;
}

async function unknownIn(
  client: Client,
  { name, text, parameters, transitions }: DatabaseFunction,
  files: readonly Script[],
): Promise<Iterable<string>> {
  const tree = parsePlPgSQLSync(text);
  const statements = statementsOf(tree);
  const rows = transitions.filter((each) => /^(new|old)$/.test(each.name));
  const known = new Map([...variablesOf(tree), ...rows, ...parameters].map((each) => [each.name, each.type]));
  const list = [...known].map(([variable, type]) => `"${variable}" ${type}`).join();
  const defining = files.filter((file) =>
    new RegExp(`^create (?:or replace )?function ${name}\\(`, "m").test(file.text),
  );
  const tables = new Set(transitions.filter((each) => !rows.includes(each)).map(({ type }) => type));
  // A trigger's function may have statements for some of its tables only.
  let problems = new Map(statements.map((each) => [each, ""]));
  for (const table of tables.size === 0 ? [undefined] : tables) {
    for (const { name } of transitions.filter(({ type }) => type === table))
      await client.query(`drop table if exists pg_temp.${name}; create temp table ${name} (like ${table})`);
    problems = await problemsOf(client, `pg_temp.${name}(${list})`, [...problems.keys()], defining);
    if (problems.size === 0) break;
  }
  return problems.values();
}

/**
 * The problems of those statements that have one.
 * @param signature of an SQL function, in pg_temp, so that no statement finds it instead of the function itself
 */
async function problemsOf(
  client: Client,
  signature: string,
  statements: readonly string[],
  files: readonly Script[],
): Promise<Map<string, string>> {
  const head = `create or replace function ${signature} returns void language sql as $check$ `;
  const problemOf = async (statement: string) => {
    await client.query("savepoint statement");
    try {
      await client.query(`${head}${statement} $check$`);
    } catch (error) {
      await client.query("rollback to savepoint statement");
      const { message, position } = error as DatabaseError;
      return positionOf(files, statement, Number(position) - [...head].length, message);
    }
  };
  const problems = new Map<string, string>();
  // Of several statements PostgreSQL shows one problem, but mostly there is none, and this is three times as fast.
  if ((await problemOf(statements.join("\n;\n"))) === undefined) return problems;
  for (const each of statements) {
    const problem = await problemOf(each);
    if (problem !== undefined) problems.set(each, problem);
  }
  return problems;
}

const functionsIn = `
  select
    proname as name,
    pg_get_functiondef(pg_proc.oid) as text,
    (
      select coalesce(json_agg(json_build_object('name', name, 'type', format_type(type, null))), '[]')
      from unnest(proargnames, coalesce(proallargtypes, proargtypes)) as parameter (name, type)
    ) as parameters,
    (
      select coalesce(json_agg(distinct jsonb_build_object('name', name, 'type', cast(tgrelid as regclass))), '[]')
      from pg_trigger, unnest(array['new', 'old', tgnewtable, tgoldtable]) as name
      where tgfoid = pg_proc.oid and name is not null
    ) as transitions
  from pg_proc join pg_language on pg_language.oid = prolang
  where lanname = 'plpgsql' and pronamespace in (cast($1 as regnamespace), 'public'::regnamespace)
`;
