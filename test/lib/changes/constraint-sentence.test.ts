import { beforeAll, expect, it } from "vitest";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
let schema: string;

beforeAll(async () => {
  const [release] = await stack.sql`select schema from releases order by installed_at desc limit 1`;
  schema = release?.schema;
});

/** The sentence about a refusal of this table, by this constraint or column. */
async function sentence(table: string, constraint: string, column = ""): Promise<string> {
  const [row] = await stack.sql.query<{ sentence: string }[]>(
    `select ${schema}.constraint_sentence($1, $2, $3) as sentence`,
    [table, constraint, column],
  );
  return row?.sentence ?? "";
}

it.each([
  {
    what: "a unique constraint",
    table: "contributors",
    constraint: "contributors_slug_key",
    column: "",
    expected: "Another contributor has the same slug",
  },
  {
    what: "a foreign key",
    table: "volumes",
    constraint: "volumes_series_id_fkey",
    column: "",
    expected: "The series volume would reference a series that does not exist (series_id)",
  },
  {
    what: "an empty column",
    table: "contributors",
    constraint: "",
    column: "first_name",
    expected: "The first_name of the contributor cannot be empty",
  },
  {
    what: "an unknown constraint",
    table: "tags",
    constraint: "unheard_of",
    column: "",
    expected: "The database refuses it by unheard_of",
  },
  {
    what: "an unknown table",
    table: "elsewhere",
    constraint: "",
    column: "",
    expected: "The database refuses it by elsewhere",
  },
])("A refusal by $what is a sentence", async ({ table, constraint, column, expected }) => {
  expect(await sentence(table, constraint, column)).toBe(expected);
});

it("No constraint of a recorded table is told by its name alone", async () => {
  const constraints = await stack.sql<{ table: string; name: string; column: string }[]>`
    select table_name as table, conname as name, '' as column
    from history_tables() join pg_constraint on conrelid = cast(table_name as regclass)
    where contype in ('p', 'u', 'f', 'c', 'x')
    union all
    select table_name, relname, ''
    from
      history_tables()
      join pg_index on indrelid = cast(table_name as regclass) and indisunique
      join pg_class on pg_class.oid = indexrelid
    union all
    select table_name, '', attname
    from history_tables() join pg_attribute on attrelid = cast(table_name as regclass) and attnotnull and attnum > 0
  `;
  expect(constraints.length).toBeGreaterThan(50);
  for (const { table, name, column } of constraints)
    expect(await sentence(table, name, column)).toMatch(
      /^(Another|The \w+,? (\w+,? )*(would reference|of the|.*is not allowed))/,
    );
});
