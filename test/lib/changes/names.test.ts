import { loadModule, parsePlPgSQLSync } from "libpg-query";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Stack, startStack } from "../../support/stack.ts";

let stack: Stack;

beforeAll(async () => {
  await loadModule();
  stack = await startStack();
});

afterAll(() => stack.close());

interface Variable {
  readonly name: string;
  readonly type: string;
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
    return [`select ${target === undefined ? query : `${target}, (${value})`}`];
  });
}

const variablesOf = (tree: unknown): Variable[] =>
  [...nodesOf(tree)].flatMap(({ PLpgSQL_var, PLpgSQL_rec }) => {
    const datum = PLpgSQL_var ?? PLpgSQL_rec;
    return datum?.datatype ? [{ name: datum.refname, type: datum.datatype.PLpgSQL_type.typname }] : [];
  });

/**
 * PostgreSQL looks names up in PL/pgSQL only when a statement runs, but in an SQL function when it is created. So each
 * statement is created as an SQL function that has the variables as its parameters.
 */
it("All tables, columns and functions that database functions name exist, in branches that never run as well", async () => {
  const problems: string[] = [];
  let count = 0;
  await stack.sql.begin(async (sql) => {
    const [{ schema = "" } = {}] = await sql<{ schema: string }[]>`select schema from releases`;
    await sql.query(`set local search_path = ${schema}, public`);
    const functions = await sql<{ name: string; text: string; parameters: Variable[]; transitions: Variable[] }[]>`
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
      where lanname = 'plpgsql' and pronamespace in (${schema}::regnamespace, 'public'::regnamespace)
    `;
    for (const { name, text, parameters, transitions } of functions) {
      const tree = parsePlPgSQLSync(text);
      const rows = transitions.filter((each) => /^(new|old)$/.test(each.name));
      const known = new Map([...variablesOf(tree), ...rows, ...parameters].map((each) => [each.name, each.type]));
      const list = [...known].map(([variable, type]) => `"${variable}" ${type}`).join();
      const statements = statementsOf(tree);
      count += statements.length;
      // A trigger's function may have statements for some of its tables only.
      const failures = new Map<string, string>();
      const tables = new Set(transitions.filter((each) => !rows.includes(each)).map(({ type }) => type));
      for (const [index, table] of [...(tables.size === 0 ? [undefined] : tables)].entries()) {
        for (const { name } of transitions.filter(({ type }) => type === table))
          await sql.query(`drop table if exists pg_temp.${name}; create temp table ${name} (like ${table})`);
        for (const statement of statements.filter((each) => index === 0 || failures.has(each))) {
          // In pg_temp no statement finds it instead of the function itself.
          const definition = `create or replace function pg_temp.${name}(${list}) returns void language sql as $check$ ${statement} $check$`;
          await sql`savepoint statement`;
          failures.delete(statement);
          await sql.query(definition).catch(async (error) => {
            failures.set(statement, `${name}: ${error.message} in ${statement}`);
            await sql`rollback to savepoint statement`;
          });
        }
      }
      problems.push(...failures.values());
    }
  });

  expect(problems).toEqual([]);
  expect(count).toBeGreaterThan(200);
});
