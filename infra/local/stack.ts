import { mkdir } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import postgres from "postgres";
import { build } from "../build.ts";
import { startDataApi } from "./data-api/server.ts";
import { makeCovers } from "./demo/covers.ts";
import { loadDemo, readDemo } from "./demo/load.ts";
import { validTokens } from "./demo/tokens.ts";
import type { Series } from "./demo/types.ts";
import { docs } from "./docs.ts";
import { startGateway } from "./gateway.ts";
import { imagePages } from "./images.ts";
import { type Lambda, startLambda } from "./lambda.ts";
import { createOwnedDatabase } from "./owner.ts";
import { startPostgres } from "./postgres.ts";
import { imageBucket, type S3, startS3 } from "./s3.ts";
import { scale } from "./scale.ts";
import { type Key, newKey } from "./signature.ts";

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
  const { port, directory, report } = options;
  // First of all: whoever has the port may be another of these, with files of its own in use.
  await expectFree(port);
  await mkdir(directory, { recursive: true });
  const outdir = join(builds, String(port));
  const [server] = await Promise.all([startDatabase(options), build({ outdir })]);
  const closing = [server.stop];
  const close = async () => {
    for (const each of closing.reverse()) await each();
  };
  try {
    const serverUrl = options.databaseUrl
      ? await createDatabase(server.url, server.database)
      : await createOwnedDatabase(server.url, server.database);
    const key = newKey();
    const dataApi = await startDataApi({ databaseUrl: serverUrl, key });
    closing.push(dataApi.close);
    setEnvironment(port, server.database, dataApi.url, key);
    const files = options.uploads ? await startFileService(directory, key) : undefined;
    if (files) closing.push(files.close);
    const lambda = await startLambda({ outdir, keepsSpare: true });
    closing.push(lambda.close);
    const databaseUrl = `${serverUrl}/${encodeURIComponent(server.database)}`;
    await fill(lambda, databaseUrl, options);
    const tokens = await validTokens(databaseUrl);
    if (files && !options.empty) await drawCovers(files, key);
    const pages = firstOf(docs(tokens), ...(files ? [imagePages(files.url, key)] : []));
    const gateway = await startGateway({
      port,
      lambda,
      allowedOrigins: origins(port),
      uploads: options.uploads,
      pages,
    });
    closing.push(gateway.close);
    closing.push(schedule(lambda, "ops-tidy", day));
    if (files) closing.push(schedule(lambda, "ops-remove-images", 10 * minute));
    return { url: `http://localhost:${port}`, tokens, close };
  } catch (error) {
    await close();
    throw error;
  }

  async function startDatabase({ databaseUrl }: StackOptions) {
    if (databaseUrl) return foreignServer(databaseUrl);
    const server = await startPostgres({ directory: join(directory, "postgres") });
    report("PostgreSQL is up");
    return { url: server.url, database, stop: () => server.stop() };
  }
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

async function startFileService(directory: string, key: Key): Promise<S3> {
  const s3 = await startS3({ directory: join(directory, "s3"), key });
  Object.assign(process.env, { AWS_ENDPOINT_URL_S3: s3.url, IMAGE_BUCKET: imageBucket });
  return s3;
}

const minute = 60_000;
const day = 24 * 60 * minute;

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
    DATABASE_CLUSTER_ARN: "arn:aws:rds:eu-central-1:123456789012:cluster:colophon",
    DATABASE_SECRET_ARN: "arn:aws:secretsmanager:eu-central-1:123456789012:secret:colophon",
    DATABASE_NAME: databaseName,
    ALLOWED_ORIGINS: origins(port).join(","),
    IMAGE_BASE_URL: `http://localhost:${port}/images`,
  });
}

/** The demo volumes' covers, those of them that are not there yet. */
async function drawCovers({ url, has }: S3, credentials: Key): Promise<void> {
  // By itself the SDK would rather take what AWS_PROFILE names.
  const client = new S3Client({ endpoint: url, credentials, forcePathStyle: true });
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
