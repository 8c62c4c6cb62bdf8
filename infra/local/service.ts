import { mkdir } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import postgres from "postgres";
import { build } from "../build/build.ts";
import { writeCredentials } from "./credentials.ts";
import { secretVariables } from "./data-api/secrets.ts";
import type { DataApiOptions } from "./data-api/server.ts";
import { makeCovers } from "./demo/covers.ts";
import { loadDemo, readDemo } from "./demo/load.ts";
import { scale } from "./demo/scale.ts";
import { validTokens } from "./demo/tokens.ts";
import type { Series } from "./demo/types.ts";
import { docs } from "./gateway/docs.ts";
import { imagePages } from "./gateway/images.ts";
import { startGateway } from "./gateway/server.ts";
import { type Key, newKey } from "./http/signature.ts";
import { openEdits } from "./lambda/edits.ts";
import { isDebugged } from "./lambda/environment.ts";
import { type Lambda, startLambda } from "./lambda/lambda.ts";
import { keepPostgres } from "./postgres/keep.ts";
import { createOwnedDatabase } from "./postgres/owner.ts";
import { hasImage, imageBucket } from "./s3/image-bucket.ts";
import type { S3Options } from "./s3/server.ts";
import { inThread } from "./thread.ts";

export interface StackOptions {
  readonly port: number;
  /** Where everything is kept from one start to the next. */
  readonly directory: string;
  /** A PostgreSQL 18 to use instead of the embedded one, its database included. */
  readonly databaseUrl?: string | undefined;
  readonly uploads: boolean;
  /** Without the demo data. */
  readonly empty: boolean;
  /** So many made-up contributors on top. */
  readonly scale: number;
  readonly report: (line: string) => void;
  /** Hears why, when something has ended for good without which nothing works. */
  readonly died: (why: string) => void;
}

export interface LocalStack {
  readonly url: string;
  /** The demo users' tokens that work. */
  readonly tokens: readonly string[];
  close(): Promise<void>;
}

export const database = "colophon";
/** Beneath node_modules, so that bundles find the packages that stay outside of them, wherever the data are. */
export const builds = join(import.meta.dirname, "../../node_modules/.cache/colophon");
const panelDevelopmentOrigin = "http://localhost:5173";

/** Starts all of the service on this machine: database, Data API, the built functions and the gateway. */
export async function startStack(options: StackOptions): Promise<LocalStack> {
  const { port, directory, died } = options;
  // First of all: whoever has the port may be another of these, with files of its own in use.
  await expectFree(port);
  await mkdir(directory, { recursive: true });
  const outdir = join(builds, String(port));
  const key = newKey();
  const closing: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const each of closing.splice(0).reverse()) await each();
  };
  try {
    const [{ serverUrl, name, dataApiUrl }, files, built] = await Promise.all([
      startDatabase(options, key, closing),
      options.uploads ? startFileService(join(directory, "s3"), key, closing, died) : undefined,
      build({ outdir }),
    ]);
    setEnvironment(port, name, dataApiUrl, key);
    await writeCredentials(directory, key);
    const edits = openEdits({
      outdir,
      stems: new Map(built.map((each) => [each.name, each.stem])),
      report: options.report,
    });
    const lambda = await startLambda({ outdir, keepsSpare: true, prepare: edits.prepare });
    closing.push(lambda.close);
    const databaseUrl = `${serverUrl}/${encodeURIComponent(name)}`;
    await fill(lambda, databaseUrl, options);
    const tokens = await validTokens(databaseUrl);
    if (files && !options.empty) await drawCovers(files.url, (name) => hasImage(join(directory, "s3"), name), key);
    const pages = firstOf(docs(tokens), ...(files ? [imagePages(files.url, key)] : []));
    const gateway = await startGateway({
      port,
      lambda,
      key,
      allowedOrigins: origins(port),
      uploads: options.uploads,
      pages,
      ...(isDebugged && { limits: { timeoutInMilliseconds: hour } }),
    });
    closing.push(gateway.close);
    edits.follow(lambda);
    closing.push(async () => edits.close());
    closing.push(schedule(lambda, "ops-tidy", day));
    if (files) closing.push(schedule(lambda, "ops-remove-images", 10 * minute));
    return { url: `http://localhost:${port}`, tokens, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** PostgreSQL, and the Data API over it. */
async function startDatabase(
  { databaseUrl, directory, report, died }: StackOptions,
  key: Key,
  closing: (() => Promise<void>)[],
): Promise<{ serverUrl: string; name: string; dataApiUrl: string }> {
  const server = databaseUrl
    ? foreignServer(databaseUrl)
    : { ...(await keepPostgres({ directory: join(directory, "postgres") }, report, died)), database };
  closing.push(server.stop);
  if (!databaseUrl) report("PostgreSQL is up");
  const own = databaseUrl ? createDatabase : createOwnedDatabase;
  const serverUrl = await own(server.url, server.database);
  const module = import.meta.resolve("./data-api/server.ts");
  const dataApi = await inThread<DataApiOptions>(
    { module, start: "startDataApi", options: { databaseUrl: serverUrl, key } },
    (why) => died(`The Data API has ended: ${why}`),
  );
  closing.push(dataApi.close);
  return { serverUrl, name: server.database, dataApiUrl: dataApi.url };
}

/** A server that somebody else runs, and the database on it. */
export function foreignServer(databaseUrl: string) {
  const url = new URL(databaseUrl);
  const name = decodeURIComponent(url.pathname.slice(1)) || database;
  url.pathname = "";
  url.search = "";
  return { url: url.href, database: name, stop: async () => {} };
}

type Pages = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;

/** The first of these that has an answer gives it. */
const firstOf =
  (...all: readonly Pages[]): Pages =>
  async (request, response) => {
    for (const pages of all) if (await pages(request, response)) return true;
    return false;
  };

async function startFileService(
  directory: string,
  key: Key,
  closing: (() => Promise<void>)[],
  died: StackOptions["died"],
) {
  const s3 = await inThread<S3Options>(
    { module: import.meta.resolve("./s3/server.ts"), start: "startS3", options: { directory, key } },
    (why) => died(`The file service has ended: ${why}`),
  );
  closing.push(s3.close);
  Object.assign(process.env, { AWS_ENDPOINT_URL_S3: s3.url, IMAGE_BUCKET: imageBucket });
  return s3;
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Does what the schedules of a deployed stack do: a minute after the start, and then time and again. */
function schedule(lambda: Lambda, name: string, everyInMilliseconds: number): () => Promise<void> {
  const run = () => void lambda.invoke(name, {});
  const first = setTimeout(run, minute);
  const timer = setInterval(run, everyInMilliseconds);
  return async () => {
    clearTimeout(first);
    clearInterval(timer);
  };
}

const origins = (port: number) => [`http://localhost:${port}`, `http://127.0.0.1:${port}`, panelDevelopmentOrigin];

async function expectFree(port: number): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", resolve);
  }).catch((error: NodeJS.ErrnoException) => {
    const isTaken = error.code === "EADDRINUSE";
    throw isTaken ? new Error(`Port ${port} is taken; try npm start -- --port ${port + 1}`) : error;
  });
  await new Promise((resolve) => server.close(resolve));
}

/** Somebody else's server is used as whom its URL names. */
async function createDatabase(serverUrl: string, name: string): Promise<string> {
  const sql = postgres(`${serverUrl}/postgres`, { max: 1, onnotice: () => {} });
  try {
    const [existing] = await sql`select 1 from pg_database where datname = ${name}`;
    if (!existing) await sql`create database ${sql(name)} encoding 'UTF8' template template0`;
    return serverUrl;
  } finally {
    await sql.end();
  }
}

/** What AWS gives its functions; the SDK's own settings lead it to the local services. */
export function setEnvironment(port: number, databaseName: string, dataApiUrl: string, key: Key): void {
  Object.assign(process.env, {
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: key.accessKeyId,
    AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
    AWS_ENDPOINT_URL_RDS_DATA: dataApiUrl,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: dataApiUrl,
    DATABASE_CLUSTER_ARN: "arn:aws:rds:eu-central-1:123456789012:cluster:colophon",
    ...secretVariables,
    DATABASE_NAME: databaseName,
    ALLOWED_ORIGINS: origins(port).join(","),
    IMAGE_BASE_URL: `http://localhost:${port}/images`,
    API_URL: `http://localhost:${port}`,
  });
}

/** The demo volumes' covers, those of them that are not there yet. */
async function drawCovers(endpoint: string, has: (key: string) => Promise<boolean>, credentials: Key): Promise<void> {
  // By itself the SDK would rather take what AWS_PROFILE names.
  const client = new S3Client({ endpoint, credentials, forcePathStyle: true });
  const put = async (Key: string, Body: Buffer) => {
    const CacheControl = "public, max-age=31536000, immutable";
    await client.send(
      new PutObjectCommand({ Bucket: imageBucket, Key, Body, ContentType: "image/webp", CacheControl }),
    );
  };
  await makeCovers(put, await readDemo<Series>("series"), has);
}

async function fill(
  lambda: Lambda,
  databaseUrl: string,
  { empty, scale: contributors, report }: StackOptions,
): Promise<void> {
  const migrated = await lambda.invoke("ops-migrate", {});
  if ("error" in migrated) throw new Error(migrated.error.errorMessage);
  report("The database is up to date");
  if (!empty && (await isEmpty(databaseUrl))) {
    // The demo users' tokens are known to everybody.
    const users = isLoopback(databaseUrl);
    await loadDemo(databaseUrl, { users });
    report(users ? "Demo data are loaded" : "Demo data are loaded, without users: the database is on another machine");
  }
  if (contributors > 0) {
    report(`Adding ${contributors} made-up contributors`);
    await scale(databaseUrl, contributors, report);
  }
}

/** Whether a database is on this machine, by the name it is given. */
export const isLoopback = (databaseUrl: string): boolean =>
  /^(localhost|127(\.\d+){3}|\[::1\])$/i.test(new URL(databaseUrl).hostname);

async function isEmpty(databaseUrl: string): Promise<boolean> {
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    const [found] = await sql`select 1 from users union all select 1 from contributors limit 1`;
    return found === undefined;
  } finally {
    await sql.end();
  }
}
