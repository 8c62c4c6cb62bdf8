import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { changes, names, operatorChanges, type Terms } from "../../lib/changes/all.ts";
import { importTables } from "./import-tables.ts";

const folder = join(import.meta.dirname, "../../lib/changes");

/** What PostgreSQL must know of the lists in all.ts. It is committed, so that everybody can read what runs. */
function eachChange(): string {
  const terms = new Map<string, Terms>(Object.entries(changes));
  const tables = new Set([...terms.values()].flatMap(({ table = [] }) => table));
  return `-- The changes of all.ts, as PostgreSQL calls them. Written by npm run statements.

-- The permission that the change requires, or null if a session is enough. An unknown name requires one that no user
-- has.
create function permission_for(change text) returns text language sql immutable as $$
  select case change
    ${lines(terms, ([name, { permission }]) => `when '${name}' then ${permission ? `'${permission}'` : "null"}`)}
    else ''
  end
$$;

-- The table of the record that changes, if the path of the request has an id.
create function table_of(change text) returns text language sql immutable as $$
  select case change
    ${lines(terms, ([name, { table }]) => (table ? `when '${name}' then '${table}'` : []))}
  end
$$;

-- Whether the record may be a user who outranks the caller.
create function permits_outranked(change text) returns boolean language sql immutable as $$
  select change in (
    ${namesWith(terms, ({ permitsOutranked }) => permitsOutranked)}
  )
$$;

-- Whether the change gives and takes no authority, and so runs beside others.
create function runs_beside_others(change text) returns boolean language sql immutable as $$
  select change in (
    ${namesWith(terms, ({ besideOthers }) => besideOthers)}
  )
$$;

create function operator_runs_beside_others(change text) returns boolean language sql immutable as $$
  select change in (
    ${namesWith(Object.entries(operatorChanges), ({ besideOthers }: Terms) => besideOthers)}
  )
$$;

-- Locks the record of this id. Returns its version, or null if there is no such record.
create function locked_version(table_name text, target bigint) returns bigint language plpgsql as $$
  declare
    found_version bigint;
  begin
    ${lines(
      [...tables].sort(),
      (table) => `if table_name = '${table}' then
      select version into found_version from ${table} where id = target for no key update;`,
      "\n    els",
    )}
    end if;
    return found_version;
  end
$$;

create function call_change(change text, request request, caller caller) returns outcome language sql as $$
  select case change
    ${lines(terms, ([name]) => `when '${name}' then ${name}(request, caller)`)}
  end
$$;

create function call_operator_change(change text, request request) returns outcome language sql as $$
  select case change
    ${lines(Object.keys(operatorChanges), (name) => `when '${name}' then ${name}(request)`)}
  end
$$;
`;
}

const lines = <Each>(all: Iterable<Each>, toLine: (each: Each) => string | readonly string[], separator = "\n    ") =>
  [...all].flatMap(toLine).join(separator);

const namesWith = (all: Iterable<readonly [string, Terms]>, has: (terms: Terms) => true | undefined) =>
  lines(all, ([name, terms]) => (has(terms) ? `'${name}'` : []), ",\n    ");

const generatedFiles = { "each-change.sql": eachChange, "import-tables.sql": importTables };

/** The SQL files that all.ts does not list, so no release has them, and the committed files that are out of date. */
export function changeFileProblems(): string[] {
  const listed = names.map((name) => `${name.replaceAll("_", "-")}.sql`);
  const unlisted = globSync("*.sql", { cwd: folder }).filter((each) => !listed.includes(each));
  return [
    ...unlisted.map((each) => `lib/changes/${each} is not listed in lib/changes/all.ts`),
    ...Object.entries(generatedFiles).flatMap(([file, text]) =>
      readFileSync(join(folder, file), "utf8") === text()
        ? []
        : `lib/changes/${file} is out of date: npm run statements`,
    ),
  ];
}

export function writeChangeFiles(): void {
  for (const [file, text] of Object.entries(generatedFiles)) writeFileSync(join(folder, file), text());
}

if (import.meta.main) writeChangeFiles();
