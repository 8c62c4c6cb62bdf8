import { mkdir } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import postgres from "postgres";
import { buildOrReuse } from "../build/reuse.ts";
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

export interface ServiceOptions {
  readonly port: number;
  /** The directory that keeps all data from one start to the next. */
  readonly directory: string;
  /** A PostgreSQL 18 to use instead of the embedded one, its database included. */
  readonly databaseUrl?: string | undefined;
  readonly uploads: boolean;
  /** Without the demo data. */
  readonly empty: boolean;
  /** Number of made-up contributors to add. */
  readonly scale: number;
  readonly report: (line: string) => void;
  /** Called with the reason when PostgreSQL, the Data API or S3 has ended for good. */
  readonly onExit: (reason: string) => void;
}

export interface LocalService {
  readonly url: string;
  /** The demo users' tokens that work. */
  readonly tokens: readonly string[];
  close(): Promise<void>;
}

export const database = "colophon";
/** Under node_modules, so that bundles find the packages that are not part of them, wherever the data directory is. */
export const builds = join(import.meta.dirname, "../../node_modules/.cache/colophon");
const panelDevelopmentOrigin = "http://localhost:5173";

/** Starts the whole service on this machine: database, Data API, the built functions and the gateway. */
export async function startService(options: ServiceOptions): Promise<LocalService> {
  const { port, directory, onExit } = options;
  // Before anything else: if another local service has the port, its files are in use.
  await expectFree(port);
  await mkdir(directory, { recursive: true });
  const outdir = join(builds, String(port));
  const key = newKey();
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const each of closers.splice(0).reverse()) await each();
  };
  try {
    const [{ serverUrl, name, dataApiUrl }, files, built] = await Promise.all([
      startDatabase(options, key, closers),
      options.uploads ? startFileService(join(directory, "s3"), key, closers, onExit) : undefined,
      buildOrReuse({ outdir }),
    ]);
    setEnvironment(port, name, dataApiUrl, key);
    await writeCredentials(directory, key);
    const edits = openEdits({
      outdir,
      stems: new Map(built.map((each) => [each.name, each.stem])),
      report: options.report,
    });
    const lambda = await startLambda({ outdir, keepsSpare: true, prepare: edits.prepare });
    closers.push(lambda.close);
    const databaseUrl = `${serverUrl}/${encodeURIComponent(name)}`;
    await loadData(lambda, databaseUrl, options);
    const tokens = await validTokens(databaseUrl);
    if (files && !options.empty) await drawCovers(files.url, (name) => hasImage(join(directory, "s3"), name), key);
    const pages = firstAnswer(docs(tokens), ...(files ? [imagePages(files.url, key)] : []));
    const gateway = await startGateway({
      port,
      lambda,
      key,
      allowedOrigins: origins(port),
      uploads: options.uploads,
      pages,
      ...(isDebugged && { limits: { timeoutInMilliseconds: hour } }),
    });
    closers.push(gateway.close);
    edits.follow(lambda);
    closers.push(async () => edits.close());
    closers.push(schedule(lambda, "ops-tidy", day));
    if (files) closers.push(schedule(lambda, "ops-remove-images", 10 * minute));
    return { url: `http://localhost:${port}`, tokens, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Starts PostgreSQL, and the Data API in front of it. */
async function startDatabase(
  { databaseUrl, directory, report, onExit }: ServiceOptions,
  key: Key,
  closers: (() => Promise<void>)[],
): Promise<{ serverUrl: string; name: string; dataApiUrl: string }> {
  const server = databaseUrl
    ? externalServer(databaseUrl)
    : { ...(await keepPostgres({ directory: join(directory, "postgres") }, report, onExit)), database };
  closers.push(server.stop);
  if (!databaseUrl) report("PostgreSQL is up");
  const own = databaseUrl ? createDatabase : createOwnedDatabase;
  const serverUrl = await own(server.url, server.database);
  const module = import.meta.resolve("./data-api/server.ts");
  const dataApi = await inThread<DataApiOptions>(
    { module, start: "startDataApi", options: { databaseUrl: serverUrl, key } },
    (reason) => onExit(`The Data API has ended: ${reason}`),
  );
  closers.push(dataApi.close);
  return { serverUrl, name: server.database, dataApiUrl: dataApi.url };
}

/** The server and the database of a `--database` URL; `stop` leaves them running. */
export function externalServer(databaseUrl: string) {
  const url = new URL(databaseUrl);
  const name = decodeURIComponent(url.pathname.slice(1)) || database;
  url.pathname = "";
  url.search = "";
  return { url: url.href, database: name, stop: async () => {} };
}

type Pages = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;

/** Asks one after another until one has answered. */
const firstAnswer =
  (...all: readonly Pages[]): Pages =>
  async (request, response) => {
    for (const pages of all) if (await pages(request, response)) return true;
    return false;
  };

async function startFileService(
  directory: string,
  key: Key,
  closers: (() => Promise<void>)[],
  onExit: ServiceOptions["onExit"],
) {
  const s3 = await inThread<S3Options>(
    { module: import.meta.resolve("./s3/server.ts"), start: "startS3", options: { directory, key } },
    (reason) => onExit(`The file service has ended: ${reason}`),
  );
  closers.push(s3.close);
  Object.assign(process.env, { AWS_ENDPOINT_URL_S3: s3.url, IMAGE_BUCKET: imageBucket });
  return s3;
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Runs a function as the schedules of a deployed stage do: a minute after the start, and then regularly. */
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

/** On an external server the service logs in as the user of its URL. */
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

/** Sets the environment variables that functions have on AWS, and the endpoints of the local services for the SDK. */
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

/** Makes the covers of the demo volumes that are not in the bucket yet. */
async function drawCovers(endpoint: string, has: (key: string) => Promise<boolean>, credentials: Key): Promise<void> {
  // Without `credentials` the SDK would prefer those of AWS_PROFILE.
  const client = new S3Client({ endpoint, credentials, forcePathStyle: true });
  const put = async (Key: string, Body: Buffer) => {
    const CacheControl = "public, max-age=31536000, immutable";
    await client.send(
      new PutObjectCommand({ Bucket: imageBucket, Key, Body, ContentType: "image/webp", CacheControl }),
    );
  };
  await makeCovers(put, await readDemo<Series>("series"), has);
}

async function loadData(
  lambda: Lambda,
  databaseUrl: string,
  { empty, scale: contributors, report }: ServiceOptions,
): Promise<void> {
  const migrated = await lambda.invoke("ops-migrate", {});
  if ("error" in migrated) throw new Error(migrated.error.errorMessage);
  report("The database is up to date");
  if (!empty && (await isEmpty(databaseUrl))) {
    // The tokens of the demo users are public, so a database on another machine does not get these users.
    const users = isLoopback(databaseUrl);
    await loadDemo(databaseUrl, { users });
    report(users ? "Demo data are loaded" : "Demo data are loaded, without users: the database is on another machine");
  }
  if (contributors > 0) {
    report(`Adding ${contributors} made-up contributors`);
    await scale(databaseUrl, contributors, report);
  }
}

/** Whether a database URL names this machine. */
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
