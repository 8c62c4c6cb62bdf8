import { globSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "pg";
import type { Script } from "../../lib/migrations/script.ts";
import { serviceLimits } from "../aws-local/data-api/limits.ts";
import { bind } from "../aws-local/data-api/parameters.ts";
import { run } from "../aws-local/data-api/query.ts";
import { withConnection } from "../aws-local/postgres/connection.ts";
import { startAwsLocal } from "../aws-local/start.ts";
import { cachedBuild } from "../build/cached-build.ts";
import { newCommand, runCommand } from "../command/command.ts";
import { print } from "../command/print.ts";
import { defaultName as name } from "../local/database.ts";
import { loadDemo } from "../local/demo/load.ts";
import { migrate } from "../local/rebuild-on-edit.ts";
import { localDocument } from "../local/stage/document.ts";
import { settingsOf, variablesOf } from "../local/stage/functions.ts";
import { newSecrets } from "../local/stage/secrets.ts";
import { withNamedTimeouts } from "./in-time.ts";
import { unknownNames } from "./names.ts";
import { positionOf } from "./position.ts";
import { outdatedFiles, type RecordedStatements, recordStatements } from "./statements.ts";
import { unmerged } from "./unmerged.ts";
import { unrecorded } from "./unrecorded.ts";

/*
 * What only PostgreSQL finds in our SQL. It runs the migrations, creates the database functions, looks up all names in
 * them, and runs what the endpoints send for their sample events over the demo data.
 */

const root = join(import.meta.dirname, "../..");

const readSources = async (paths: readonly string[]): Promise<Script[]> =>
  await Promise.all(paths.map(async (path) => ({ path, text: await readFile(join(root, path), "utf8") })));

/** Of the functions that migrate and import, which take two seconds on a quiet machine. */
const timeoutInMilliseconds = 300_000;

async function findProblems(directory: string): Promise<readonly string[]> {
  const { outdir, functions } = await cachedBuild({ isShared: true });
  const sources = new Map(functions.map((each) => [each.endpointPath, each.sources]));
  const recording = recordStatements(outdir);
  // It is waited for later, if at all.
  recording.catch(() => {});
  let problems: readonly string[] = [];
  const aws = await startAwsLocal({
    document: localDocument(),
    functions: {
      outdir,
      settingsOf: (name) => settingsOf(name, { longInMilliseconds: timeoutInMilliseconds }),
      variables: variablesOf({ database: name }),
      print: () => {},
    },
    database: { directory: join(directory, "postgres"), name, durable: false },
    secrets: ({ serverUrl, adminUrl }) => newSecrets(serverUrl, new URL(adminUrl).password),
    async beforeOpen({ lambda: unnamed, database: { adminUrl, serverUrl } }) {
      const lambda = withNamedTimeouts(unnamed, timeoutInMilliseconds);
      await migrate(lambda);
      problems = await withConnection(`${adminUrl}/${name}`, async (client) => {
        const loading = loadDemo(lambda, `${serverUrl}/${name}`);
        loading.catch(() => {});
        const unknown = [...(await unknownNamesIn(client)), ...(await unrecorded(client)), ...(await unmerged(client))];
        await loading.catch((error) => {
          if (unknown.length === 0) throw error;
        });
        const recorded = await recording;
        const failing: string[] = [];
        for (const each of recorded) failing.push(...(await problemsOf(client, each, sources.get(each.path) ?? [])));
        const outdated = await outdatedFiles(recorded);
        return [
          ...unknown,
          ...new Set(failing),
          ...outdated.map((file) => `${file} is out of date: npm run statements`),
        ];
      });
      return [];
    },
  });
  await aws.close();
  return problems;
}

async function unknownNamesIn(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ schema: string }>("select schema from releases");
  const files = globSync("lib/{changes,migrations}/**/*.sql", { cwd: root });
  return await unknownNames(client, rows[0]?.schema ?? "", await readSources(files));
}

/** What is wrong with the statements of an endpoint, and with the JSON that they return. */
async function problemsOf(
  client: Client,
  { path, statements }: RecordedStatements,
  sources: readonly string[],
): Promise<string[]> {
  const problems: string[] = [];
  for (const { sql, parameters } of statements) {
    const statement = bind(sql, parameters);
    await client.query("begin");
    try {
      const { rows, columns = [] } = await run(client, statement, serviceLimits);
      const texts = rows.flatMap((row) => row.filter((_, index) => columns[index]?.dataTypeID !== jsonb));
      const [position] = texts.flatMap((text) => blankIn(text ?? "") ?? []);
      if (position)
        problems.push(
          `functions/${path}.ts returns JSON with blanks, which lib/queries/fragments/json.ts avoids: ${position}`,
        );
    } catch (error) {
      const { message, position } = error as Error & { position?: string };
      const files = await readSources(sources.filter((file) => file.startsWith("lib/queries/")));
      // An error without a position is one of these values, or within a database function.
      if (position !== undefined) problems.push(positionOf(files, statement.text, Number(position), message));
    }
    await client.query("rollback");
  }
  return problems;
}

/** The Data API leaves no blanks in values of this type. */
const jsonb = 3802;

/** The position of a blank between the parts of JSON, such as `json_build_object` makes. */
function blankIn(text: string): string | undefined {
  const [before] = /^[[{](?:"(?:[^"\\]|\\.)*"|[^\s"])*(?=\s)/.exec(text) ?? [];
  return before && text.slice(Math.max(0, before.length - 30), before.length + 30);
}

if (import.meta.main) {
  const command = newCommand("node infra/check/database.ts").description(
    "Finds what is wrong with migrations, database functions and the endpoints' statements.",
  );
  await runCommand(
    command.action(async () => {
      const directory = await mkdtemp(join(tmpdir(), "colophon-check-"));
      try {
        const problems = await findProblems(directory);
        if (problems.length > 0) throw new Error(problems.join("\n"));
        print("Everything is as it should be");
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    }),
  );
}
