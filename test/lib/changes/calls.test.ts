import { expect, it } from "vitest";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

/** The names that a body calls: before a parenthesis, without a space. */
const callsIn = (body: string): string[] =>
  [...body.replace(/--.*|'(?:[^']|'')*'/g, "").matchAll(/\b([a-z_]\w*)\(/g)].map(([, name = ""]) => name);

/**
 * PostgreSQL looks a function up in PL/pgSQL only when its statement runs. In SQL functions it does so when they are
 * installed.
 */
it("All functions that database functions call exist", async () => {
  const bodies = await stack.sql<{ name: string; body: string }[]>`
    select proname as name, prosrc as body
    from pg_proc
    where pronamespace = (select oid from pg_namespace where nspname like 'changes_%')
      or pronamespace = 'public'::regnamespace
  `;
  const known = await stack.sql<{ name: string }[]>`
    select word as name from pg_get_keywords()
    union
    select proname
    from pg_proc
    where pronamespace in (
      select oid from pg_namespace where nspname in ('pg_catalog', 'public') or nspname like 'changes_%'
    )
  `;
  const names = new Set(known.map(({ name }) => name));

  const missing = bodies.flatMap(({ name, body }) =>
    callsIn(body).flatMap((call) => (names.has(call) ? [] : [`${name} calls ${call}`])),
  );

  expect(missing).toEqual([]);
  expect(bodies.length).toBeGreaterThan(40);
});
