import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { loadModule, parsePlPgSQLSync, parseSync } from "libpg-query";
import { slowMark } from "../../lib/migrations/slow.ts";

const root = join(import.meta.dirname, "../..");

const lineLengthMax = 120;

/** How our SQL is written. sql-formatter knows no PL/pgSQL and joins what stands in lines of its own. */
const rules: readonly { readonly problem: string; readonly pattern: RegExp }[] = [
  { problem: "white space at the end of a line", pattern: /[ \t]+$/ },
  { problem: "no indentation by two spaces", pattern: /^(?: {2})* \S|\t/ },
  {
    problem: "a keyword in capitals",
    pattern: /^[^'"]*\b(?:SELECT|FROM|WHERE|INSERT|UPDATE|DELETE|CREATE|AND|OR|NOT|NULL|BEGIN|END)\b/,
  },
  { problem: `more than ${lineLengthMax} characters`, pattern: new RegExp(`^.{${lineLengthMax + 1}}`) },
];

/** What is wrong with a file: its syntax, PL/pgSQL included, or how it is written. Landed migrations stay as they are. */
export function problemsOf(path: string, text: string): string[] {
  const isMigration = path.startsWith("lib/migrations/tables/");
  const lines = text.split("\n").flatMap((line, index) => {
    const code = line.replace(/--.*/, (comment) => comment.replaceAll(/[A-Z]/g, "x"));
    return rules.flatMap(({ problem, pattern }) => (pattern.test(code) ? [`${path}:${index + 1}: ${problem}`] : []));
  });
  return [
    ...(isMigration ? [] : lines),
    ...syntaxErrorsOf(path, text),
    ...(isMigration ? slowProblemsOf(path, text) : []),
  ];
}

/** What a slow migration may be: a run whose response got lost is repeated (lib/migrations/slow.ts). */
const repeatable: Readonly<Record<string, (statement: Node) => unknown>> = {
  "create index concurrently if not exists name": ({ IndexStmt: index }) =>
    index?.concurrent && index.if_not_exists && /^\w+$/.test(index.idxname),
  "drop index concurrently if exists": ({ DropStmt: drop }) => drop?.concurrent && drop.missing_ok,
  "alter table validate constraint": ({ AlterTableStmt: alter }) =>
    alter?.cmds.length === 1 && alter.cmds[0].AlterTableCmd.subtype === "AT_ValidateConstraint",
};

function slowProblemsOf(path: string, text: string): string[] {
  const isSlow = slowMark.test(text);
  const statements = parsed(text);
  if (!isSlow && statements.some((each) => each.IndexStmt?.concurrent || each.DropStmt?.concurrent))
    return [`${path}: "concurrently" without a first line such as "-- slow: 2 hours"`];
  if (!isSlow) return /^-- slow\b/m.test(text) ? [`${path}: the first line is not as "-- slow: 2 hours"`] : [];
  const [statement, ...others] = statements;
  const isRepeatable = statement && Object.values(repeatable).some((is) => is(statement));
  if (isRepeatable && others.length === 0) return [];
  return [`${path}: a slow migration is one statement of these: ${Object.keys(repeatable).join(", ")}`];
}

// biome-ignore lint/suspicious/noExplicitAny: the parser's types are those of another version of PostgreSQL
type Node = Readonly<Record<string, any>>;

/** The statements of a text; none if its syntax is wrong. */
function parsed(text: string): Node[] {
  try {
    return parseSync(text).stmts?.map(({ stmt }: { stmt?: Node }) => stmt ?? {}) ?? [];
  } catch {
    return [];
  }
}

function syntaxErrorsOf(path: string, text: string): string[] {
  try {
    const bytes = Buffer.from(text);
    for (const { stmt, stmt_location: start = 0, stmt_len: length } of parseSync(text).stmts ?? []) {
      const statement = bytes.subarray(start, length && start + length).toString();
      if (stmt && "CreateFunctionStmt" in stmt && /\blanguage plpgsql\b/.test(statement)) parsePlPgSQLSync(statement);
    }
    return [];
  } catch (error) {
    return [`${path}: ${error instanceof Error ? error.message : error}`];
  }
}

if (import.meta.main) {
  await loadModule();
  const files = (await readdir(join(root, "lib"), { recursive: true })).map(
    (file) => `lib/${file.replaceAll("\\", "/")}`,
  );
  const problems = await Promise.all(
    files
      // Those of lib/queries/statements are written by npm run statements.
      .filter((file) => file.endsWith(".sql") && !file.startsWith("lib/queries/"))
      .sort()
      .map(async (file) => problemsOf(file, await readFile(join(root, file), "utf8"))),
  );
  if (problems.flat().length > 0) {
    console.error(problems.flat().join("\n"));
    process.exitCode = 1;
  }
}
