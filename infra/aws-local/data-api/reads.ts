import type { Client } from "pg";
import { isMultistatement, type Words, wordsOf } from "./lexer.ts";
import type { Session } from "./sessions.ts";

/** The statements of each database that only read and do not change their session. */
export interface Reads {
  has(database: string, text: string): boolean;
  /** Finds out whether a statement that a session has run only reads, unless that is known. */
  learn(session: Session, text: string): Promise<void>;
  /** The schema has changed. */
  forget(): void;
}

/** Other clients may change the schema, too, so results are forgotten after this time. */
const rememberedInMilliseconds = 10_000;
const textsMax = 1000;

export function knownReads(): Reads {
  const known = new Map<string, { readonly isRead: boolean; readonly until: number }>();
  let schema = 0;

  const find = (database: string, text: string) => {
    const entry = known.get(`${database} ${text}`);
    return entry && entry.until > performance.now() ? entry : undefined;
  };

  return {
    has: (database, text) => find(database, text)?.isRead ?? false,

    async learn({ client, login: { database }, running }, text) {
      if (find(database, text) || running || client.getTransactionStatus() !== "I") return;
      const schemaBefore = schema;
      // The session may have been closed meanwhile.
      const isRead = await onlyReads(client, text).catch(() => false);
      if (schemaBefore !== schema) return;
      if (known.size >= textsMax) known.clear();
      known.set(`${database} ${text}`, { isRead, until: performance.now() + rememberedInMilliseconds });
    },

    forget() {
      schema += 1;
      known.clear();
    },
  };
}

/** The first words of statements that read, and of function bodies in SQL. */
const reading = new Set(["select", "with", "values", "table", "return"]);
const writing = ["insert", "update", "delete", "merge", "into"];

interface Body {
  readonly text: string;
  readonly language: "sql" | "plpgsql";
}

/**
 * Looks at all functions that a statement calls. A volatile function may change the session, except for a few. Of a
 * function in SQL or PL/pgSQL the body is examined. A function in another language may do anything.
 */
async function onlyReads(client: Client, statement: string): Promise<boolean> {
  const known = new Map<string, Body>([[statement, { text: statement, language: "sql" }]]);
  for (const body of known.values()) {
    const words = wordsOf(body.text);
    if (!words || !mayRead(body, words)) return false;
    const bodies = await calledBy(client, words);
    if (!bodies) return false;
    for (const each of bodies) known.set(each.text, each);
  }
  return true;
}

/** In a PL/pgSQL function that is not volatile PostgreSQL allows only queries; but `execute` can run any text. */
function mayRead({ text, language }: Body, { first, all }: Words): boolean {
  if (language === "plpgsql") return !all.has("execute");
  return reading.has(first) && !isMultistatement(text) && !writing.some((word) => all.has(word));
}

/** PostgreSQL's volatile functions whose effect ends with the statement, or which have none. */
const harmlessFunctions = [
  "bernoulli",
  "clock_timestamp",
  "gen_random_uuid",
  "pg_advisory_xact_lock",
  "pg_advisory_xact_lock_shared",
  "pg_cancel_backend",
  "pg_sleep",
  "pg_try_advisory_xact_lock",
  "random",
  "system",
  "timeofday",
  "uuidv4",
  "uuidv7",
];

/** The bodies of the called functions; undefined if one of them may change the session. */
async function calledBy(client: Client, { all, called }: Words): Promise<Body[] | undefined> {
  const { rows } = await client.query<{ changes: boolean; bodies: Body[] }>(calledFunctions, [
    [...all],
    [...called],
    harmlessFunctions,
  ]);
  return rows[0]?.changes ? undefined : rows[0]?.bodies;
}

/**
 * A function may be called by its name or, if its parameter is a row, like a column of the row. Functions that are
 * called without a name (by views, operators, casts, domains, policies) are not examined: they count as a change.
 */
const calledFunctions = `
  with
    named as (
      select p.*, l.lanname as language
      from pg_catalog.pg_proc p join pg_catalog.pg_language l on l.oid = p.prolang
      where
        p.proname = any($2::text[]::name[])
        or (
          p.proname = any($1::text[]::name[])
          and p.pronargs - p.pronargdefaults <= 1
          and exists (
            select from pg_catalog.pg_type t where t.oid = p.proargtypes[0] and t.typtype in ('c', 'p')
          )
        )
    ),
    unnamed as (
      select p.oid
      from pg_catalog.pg_proc p join pg_catalog.pg_language l on l.oid = p.prolang
      where
        l.lanname not in ('internal', 'c')
        and p.pronamespace <> 'pg_catalog'::pg_catalog.regnamespace
        and (
          p.oid in (select oprcode from pg_catalog.pg_operator)
          or p.oid in (select castfunc from pg_catalog.pg_cast)
          or p.oid in (select amproc from pg_catalog.pg_amproc)
        )
    )
  select
    exists (
      select
      from named
      where case
        when language not in ('internal', 'c', 'sql', 'plpgsql') then true
        when language = 'plpgsql' then provolatile = 'v'
        when pronamespace <> 'pg_catalog'::pg_catalog.regnamespace and prokind = 'a' then true
        when language = 'sql' then false
        when pronamespace = 'pg_catalog'::pg_catalog.regnamespace and proname = any($3::text[]::name[]) then false
        else provolatile = 'v'
      end
    )
    or exists (select from unnamed)
    or exists (select from pg_catalog.pg_policy)
    or exists (
      select
      from pg_catalog.pg_constraint c join pg_catalog.pg_type t on t.oid = c.contypid
      where t.typnamespace::pg_catalog.regnamespace::text <> 'information_schema'
    )
    or exists (
      select from pg_catalog.pg_class where relname = any($1::text[]::name[]) and relkind in ('v', 'f')
    ) as changes,
    array(
      select pg_catalog.json_build_object(
        'text', coalesce(pg_catalog.pg_get_function_sqlbody(oid), prosrc), 'language', language
      )
      from named
      where language in ('sql', 'plpgsql') and prokind <> 'a'
    ) as bodies`;
