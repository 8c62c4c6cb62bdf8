import { globSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Field } from "@aws-sdk/client-rds-data";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { escapeLiteral } from "pg";
import { type Declaration, endpointPath, isNavigation } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { cachedBuild } from "../build/cached-build.ts";
import { newCommand, runCommand } from "../command/command.ts";
import { eventOf } from "../command/event.ts";
import { writeChangeFiles } from "./each-change.ts";
import { readableSql } from "./readable-sql.ts";
import { type Statement, startRecorder } from "./recorder.ts";

/** What an endpoint sends to PostgreSQL for its sample event. */
export type RecordedStatements = Awaited<ReturnType<typeof record>>;

const longValue = (value: number): Field => ({ longValue: value });
const stringValue = (value: string): Field => ({ stringValue: value });

/** Results by which a list has more records than one result: the first ones do not fit into a row, and more follow. */
const longList: readonly (readonly Field[])[] = [
  [longValue(1_000_000), { isNull: true }, longValue(200), longValue(1), longValue(5_000), longValue(400)],
  [
    ...[longValue(2), longValue(0), stringValue(btoa("{}"))],
    ...[longValue(200), longValue(1), longValue(5_000), longValue(2_000), longValue(77), stringValue("77")],
  ],
];

/**
 * Records the statements of all endpoints; of a list also that for a search and for a later page. To sign in asks the
 * database only after the response of the provider.
 * @param outdir the built functions
 */
export async function recordStatements(outdir: string): Promise<RecordedStatements[]> {
  const recorder = await startRecorder(outdir);
  const recorded: RecordedStatements[] = [];
  try {
    for (const declaration of endpoints.filter((each) => !isNavigation(each)))
      recorded.push(await record(recorder, declaration));
  } finally {
    await recorder.close();
  }
  return recorded;
}

async function record({ statementsOf }: Awaited<ReturnType<typeof startRecorder>>, declaration: Declaration) {
  const path = endpointPath(declaration);
  const event = (await eventOf(path)) as APIGatewayProxyEvent;
  const { search = "Takahashi", limit, ...others } = event.queryStringParameters ?? {};
  const send = (query: object, results?: typeof longList) =>
    statementsOf(path, { ...event, queryStringParameters: query }, results);
  const [first] = await send(limit ? { ...others, limit } : others);
  const found = [[`${declaration.method} ${declaration.path}`, first]] as [string, Statement][];
  if ("search" in (declaration.query ?? {})) {
    const [searching] = await send({ ...others, limit, search });
    found.push(["A search", searching]);
  }
  if ("list" in declaration.response) {
    const [, , later] = await send(others, longList);
    if (later) found.push(["The next page of a list that exceeds a result of the Data API", later]);
  }
  return {
    /** `admin-roles/list` */
    path,
    statements: found.map(([, statement]) => statement),
    /** The same as the committed file has it. */
    text: `${found.map(([title, statement]) => `-- ${title}\n${withoutRun(asSql(statement))}`).join("\n\n")}\n`,
  };
}

/** Of these values each run has others. */
const withoutRun = (text: string): string =>
  text
    .replace(/\bchanges_[0-9a-f]{12}\b/g, "release")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "…")
    .replace(/"key":"[^"]*"/g, '"key":"…"');

/** The statement, and its parameters as comments. */
const asSql = ({ sql, parameters }: Statement): string =>
  [
    `${readableSql(sql)};`,
    ...parameters.map(({ name, value }) => `-- :${name} = ${literal(Object.values(value)[0], value.isNull)}`),
  ].join("\n");

const literal = (value: unknown, isNull = false) =>
  isNull ? "null" : typeof value === "string" ? escapeLiteral(value) : String(value);

const root = join(import.meta.dirname, "../..");
const folder = "lib/queries/statements";

/** The committed files that are not what the endpoints send. */
export async function outdatedFiles(recorded: readonly RecordedStatements[]): Promise<string[]> {
  const files = new Map(recorded.map(({ path, text }) => [`${path}.sql`, text]));
  const all = new Set([...files.keys(), ...globSync("**/*.sql", { cwd: join(root, folder) })]);
  const texts = await Promise.all([...all].map((file) => readFile(join(root, folder, file), "utf8").catch(() => "")));
  return [...all].filter((file, index) => files.get(file) !== texts[index]).map((file) => `${folder}/${file}`);
}

if (import.meta.main) {
  const command = newCommand("npm run statements").description(
    "Writes lib/changes/each-change.sql and import-tables.sql, and lib/queries/statements anew: what each endpoint " +
      "sends to PostgreSQL for its sample event.",
  );
  await runCommand(
    command.action(async () => {
      writeChangeFiles();
      const { outdir } = await cachedBuild({ isShared: true });
      const recorded = await recordStatements(outdir);
      await rm(join(root, folder), { recursive: true });
      for (const { path, text } of recorded) {
        const file = join(root, folder, `${path}.sql`);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, text);
      }
    }),
  );
}
