import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import * as z from "zod";
import { clientVariables } from "./client-variables.ts";
import { startDataApi } from "./data-api/server.ts";
import { newKey } from "./http/signature.ts";
import type { FunctionSettings } from "./lambda/settings.ts";
import { openDatabase } from "./postgres/database.ts";
import { clusterArn, masterSecretArn } from "./secrets-manager/arns.ts";
import { startAwsLocal } from "./start.ts";

const usage = `npx aws-local --api FILE --functions DIR [--port N] [--data DIR] [--database URL] [--bucket NAME …]
npx aws-local data-api [--port N] [--data DIR] [--database URL]
  data-api     starts the Data API alone
  --api        the OpenAPI document that API Gateway would import
  --functions  the folder of bundles: DIR/NAME/index.mjs; DIR/settings.json has their settings
  --port       of API Gateway, or of the Data API; default: a free one
  --data       keeps PostgreSQL and the buckets from one start to the next; default: a temporary folder
  --database   a PostgreSQL to use instead of the embedded one: postgres://user:password@host:port/name
  --bucket     the name of a bucket of S3; can come several times`;

const flags = {
  api: { type: "string", default: "" },
  functions: { type: "string", default: "" },
  port: { type: "string" },
  data: { type: "string" },
  database: { type: "string" },
  bucket: { type: "string", multiple: true, default: [] as string[] },
  help: { type: "boolean" },
} as const;

type Flags = ReturnType<typeof parseArgs<{ options: typeof flags }>>["values"];

const started = new AsyncDisposableStack();
let end = async (code: number, line?: string): Promise<void> => {
  end = async () => {};
  if (line) process.stderr.write(`${line}\n`);
  await started.disposeAsync().catch((error: unknown) => console.error(lineOf(error)));
  process.exit(code);
};

const lineOf = (error: unknown) => (error instanceof Error ? error.message : `${error}`).replaceAll(/\s*\n\s*/g, " ");

const watch = {
  report: (line: string) => void process.stderr.write(`${line}\n`),
  onExit: (reason: string) => void end(1, reason),
};

/** Runs the command with the words behind its name; an error is printed in one line, with the exit code 1. */
export async function main(): Promise<void> {
  const stop = () => void end(0);
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    const { values, positionals } = parseArgs({ options: flags, allowPositionals: true });
    const [command] = positionals;
    if (values.help) return void process.stdout.write(`${usage}\n`);
    if (positionals.length > 1 || (command && command !== "data-api"))
      throw new Error(`Unknown command ${positionals}`);
    if (!command && !(values.api && values.functions)) throw new Error("--api and --functions are missing; see --help");
    const variables = await (command ? startDataApiAlone(values) : startApi(values));
    for (const [name, value] of Object.entries(variables)) process.stdout.write(`${name}=${value}\n`);
  } catch (error) {
    await end(1, lineOf(error));
  }
}

async function startDataApiAlone(values: Flags): Promise<Record<string, string>> {
  const database = await openDatabase(databaseOf(values, await folderOf(values)), watch);
  started.defer(database.stop);
  const key = newKey();
  const dataApi = await startDataApi({ databaseUrl: database.serverUrl, key, ...portOf(values) });
  started.defer(dataApi.close);
  return { ...clientVariables(key, { dataApiUrl: dataApi.url }), ...databaseVariables(database) };
}

async function startApi(values: Flags): Promise<Record<string, string>> {
  const document = await readJson(values.api, z.unknown());
  const settingsOf = await readSettings(values.functions);
  const directory = await folderOf(values);
  const aws = await startAwsLocal({
    ...portOf(values),
    document,
    functions: { outdir: values.functions, settingsOf },
    database: databaseOf(values, directory),
    ...(values.bucket.length > 0 && { s3: { directory: join(directory, "s3"), buckets: values.bucket } }),
    ...watch,
  });
  started.defer(aws.close);
  return { API_URL: aws.url, ...clientVariables(aws.key, aws), ...databaseVariables(aws.database) };
}

/** What a call of the Data API names. */
const databaseVariables = ({ name }: { name: string }) => ({
  DATABASE_CLUSTER_ARN: clusterArn,
  DATABASE_SECRET_ARN: masterSecretArn,
  DATABASE_NAME: name,
});

const portOf = ({ port }: Flags) => (port === undefined ? {} : { port: Number(port) });

/** A temporary folder is removed at the end. */
async function folderOf({ data }: Flags): Promise<string> {
  if (data !== undefined) return resolve(data);
  const directory = await mkdtemp(join(tmpdir(), "aws-local-"));
  started.defer(() => rm(directory, { recursive: true }));
  return directory;
}

const databaseOf = ({ data, database }: Flags, directory: string) =>
  database === undefined ? { directory: join(directory, "postgres"), durable: data !== undefined } : { url: database };

const settingsFile = z.record(
  z.string(),
  z.strictObject({
    variables: z.record(z.string(), z.string()).default({}),
    timeoutInMilliseconds: z.int().exactOptional(),
    memoryInMegabytes: z.int().exactOptional(),
  }),
);

/** The settings in a folder of bundles, if any: of all functions under `*`, and of each under its name. */
async function readSettings(directory: string): Promise<(name: string) => FunctionSettings> {
  const file = join(directory, "settings.json");
  const settings = existsSync(file) ? await readJson(file, settingsFile) : {};
  const shared = settings["*"];
  return (name) => {
    const own = settings[name];
    return { ...shared, ...own, variables: { ...shared?.variables, ...own?.variables } };
  };
}

async function readJson<Content>(file: string, schema: z.ZodType<Content>): Promise<Content> {
  const text = await readFile(file, "utf8");
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${file}: ${cause instanceof z.ZodError ? z.prettifyError(cause) : lineOf(cause)}`, { cause });
  }
}
