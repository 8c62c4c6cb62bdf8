import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { slowMark } from "../../lib/migrations/slow.ts";
import { changeFileProblems } from "./each-change.ts";

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

/** What is wrong with how a file is written; its syntax is PostgreSQL's (database.ts). Landed migrations stay as they are. */
export function problemsOf(path: string, text: string): string[] {
  if (path.startsWith("lib/migrations/tables/")) return slowProblemsOf(path, text);
  return text.split("\n").flatMap((line, index) => {
    const code = line.replace(/--.*/, (comment) => comment.replaceAll(/[A-Z]/g, "x"));
    return rules.flatMap(({ problem, pattern }) => (pattern.test(code) ? [`${path}:${index + 1}: ${problem}`] : []));
  });
}

/** What a slow migration may be: a run whose response got lost is repeated (lib/migrations/slow.ts). */
const repeatable: Readonly<Record<string, RegExp>> = {
  "create index concurrently if not exists name": /^create (?:unique )?index concurrently if not exists \w+ on [^;]+;$/,
  "drop index concurrently if exists": /^drop index concurrently if exists [^;]+;$/,
  "alter table validate constraint": /^alter table \w+ validate constraint \w+;$/,
};

function slowProblemsOf(path: string, text: string): string[] {
  const code = text
    .replaceAll(/^--.*\n/gm, "")
    .replaceAll(/\s+/g, " ")
    .trim();
  if (slowMark.test(text)) {
    if (Object.values(repeatable).some((pattern) => pattern.test(code))) return [];
    return [`${path}: a slow migration is one statement of these: ${Object.keys(repeatable).join(", ")}`];
  }
  if (/\bindex concurrently\b/.test(code)) return [`${path}: "concurrently" without the first line "-- slow"`];
  return /^-- slow\b/m.test(text) ? [`${path}: "-- slow" is not the first line`] : [];
}

if (import.meta.main) {
  // Those of lib/queries/statements are written by npm run statements.
  const files = globSync("lib/{changes,migrations}/**/*.sql", { cwd: root }).sort();
  const problems = [
    ...files.flatMap((file) => problemsOf(file, readFileSync(join(root, file), "utf8"))),
    ...changeFileProblems(),
  ];
  if (problems.length > 0) {
    console.error(problems.join("\n"));
    process.exitCode = 1;
  }
}
