import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { type PageHandler, startApiGateway } from "../aws-local/api-gateway/server.ts";
import type { DataApiOptions } from "../aws-local/data-api/server.ts";
import { isFree } from "../aws-local/free-port.ts";
import { type Key, newKey } from "../aws-local/http/signature.ts";
import { isDebugged } from "../aws-local/lambda/environment.ts";
import { invokeApi } from "../aws-local/lambda/invoke-api.ts";
import { type Lambda, startLambda } from "../aws-local/lambda/lambda.ts";
import type { S3Options } from "../aws-local/s3/server.ts";
import { inThread } from "../aws-local/thread.ts";
import { buildOrReuse } from "../build/cached-build.ts";
import { writeCredentials } from "./credentials.ts";
import { type DatabaseOptions, isEmpty, isLoopback, startDatabase } from "./database.ts";
import { coverPages } from "./demo/covers.ts";
import { loadDemo, readDemo } from "./demo/load.ts";
import { scale } from "./demo/scale.ts";
import { validTokens } from "./demo/tokens.ts";
import type { Series } from "./demo/types.ts";
import { docs } from "./docs.ts";
import { localDocument } from "./document.ts";
import { openEdits } from "./edits.ts";
import { settingsOf } from "./functions.ts";
import { imageBucket } from "./image-bucket.ts";
import { imagePages } from "./images.ts";
import { setBucketVariables, setVariables } from "./variables.ts";

export interface ServiceOptions extends DatabaseOptions {
  readonly port: number;
  /** Origins of pages that may call administrative endpoints, beside those of the service and of Vite. */
  readonly origins: readonly string[];
  readonly uploads: boolean;
  /** Without the demo data. */
  readonly empty: boolean;
  /** Number of made-up contributors to add. */
  readonly scale: number;
  /** Sets the passwords of roles that exist on the server with others. */
  readonly setPasswords: boolean;
}

export interface LocalService {
  readonly url: string;
  /** The demo users' tokens that work. */
  readonly tokens: readonly string[];
  close(): Promise<void>;
}

/** Under node_modules, so that bundles find the packages that are not part of them, wherever the data directory is. */
export const builds = join(import.meta.dirname, "../../node_modules/.cache/colophon");
/** Where a panel runs while it is developed. */
const viteOrigin = "http://localhost:5173";

type Closers = (() => Promise<void>)[];

/** Starts the whole service on this machine: database, Data API, the built functions and the gateway. */
export async function startService(options: ServiceOptions): Promise<LocalService> {
  const { port, directory } = options;
  // Before anything else: if another local service has the port, its files are in use.
  await expectFree(port);
  await mkdir(directory, { recursive: true });
  const outdir = join(builds, String(port));
  const key = newKey();
  const closers: Closers = [];
  const close = async () => {
    for (const each of closers.splice(0).reverse()) await each();
  };
  try {
    const [{ serverUrl, name, isOwn, dataApiUrl }, files, built] = await Promise.all([
      startDataApi(options, key, closers),
      options.uploads ? startFileService(options, key, closers) : undefined,
      buildOrReuse({ outdir }),
    ]);
    const url = `http://localhost:${port}`;
    const allowedOrigins = [url, `http://127.0.0.1:${port}`, viteOrigin, ...options.origins];
    setVariables({ database: name, dataApiUrl, key, allowedOrigins, imageBaseUrl: `${url}/images` });
    // `ops-smoke` asks it.
    process.env.API_URL = url;
    if (files) setBucketVariables(files.url);
    await writeCredentials(directory, key);
    const edits = openEdits({
      outdir,
      stems: new Map(built.map((each) => [each.name, each.stem])),
      report: options.report,
    });
    const lambda = await startLambda({ outdir, settingsOf, prepare: edits.prepare });
    closers.push(lambda.close);
    const databaseUrl = `${serverUrl}/${encodeURIComponent(name)}`;
    await migrate(lambda, isOwn || options.setPasswords);
    options.report("The database is up to date");
    await loadData(databaseUrl, options);
    const tokens = await validTokens(databaseUrl);
    const covers = coverPages(options.empty ? [] : await readDemo<Series>("series"));
    const gateway = await startApiGateway({
      port,
      document: localDocument({ allowedOrigins, uploads: options.uploads }),
      lambda,
      pages: [
        reportForeignOrigins(allowedOrigins, options.report),
        docs(tokens),
        covers,
        ...(files ? [imagePages(files.url, key)] : []),
        invokeApi(lambda, key),
      ],
      ...(isDebugged && { limits: { timeoutInMilliseconds: hour } }),
    });
    closers.push(gateway.close);
    edits.follow(lambda);
    closers.push(async () => edits.close());
    closers.push(schedule(lambda, "ops-tidy", day));
    if (files) closers.push(schedule(lambda, "ops-remove-images", 10 * minute));
    return { url, tokens, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Says once of each origin that its pages are refused on administrative paths, and what would allow them. It never
 * answers.
 */
function reportForeignOrigins(allowedOrigins: readonly string[], report: (line: string) => void): PageHandler {
  const known = new Set(allowedOrigins);
  return ({ headers: { origin }, url = "" }) => {
    if (origin === undefined || known.has(origin) || !isAdministrative(url)) return false;
    known.add(origin);
    const setting =
      URL.parse(origin)?.origin === origin
        ? `npm start -- --origin ${origin} (on AWS "allowedOrigins" in infra/stages.ts) would allow it`
        : "only a page with an origin of its own can be allowed";
    report(`Refused a page of the origin ${origin}: ${setting}`);
    return false;
  };
}

const resourceOf = (path: string) => path.split(/[/?]/)[1];
const administrativeResources = new Set(
  endpoints.filter(({ permission }) => permission).map(({ path }) => resourceOf(path)),
);
const isAdministrative = (url: string) => administrativeResources.has(resourceOf(url));

/** The closers stop the database even if the Data API does not start. */
async function startDataApi(options: ServiceOptions, key: Key, closers: Closers) {
  const { stop, secrets, ...database } = await startDatabase(options);
  closers.push(stop);
  const dataApi = await inThread<DataApiOptions>(
    {
      module: import.meta.resolve("../aws-local/data-api/server.ts"),
      start: "startDataApi",
      options: { databaseUrl: database.serverUrl, secrets, key },
    },
    (reason) => options.onExit(`The Data API has ended: ${reason}`),
  );
  closers.push(dataApi.close);
  return { ...database, dataApiUrl: dataApi.url };
}

async function startFileService({ directory, onExit }: ServiceOptions, key: Key, closers: Closers) {
  const s3 = await inThread<S3Options>(
    {
      module: import.meta.resolve("../aws-local/s3/server.ts"),
      start: "startS3",
      options: { directory: join(directory, "s3"), buckets: [imageBucket], key },
    },
    (reason) => onExit(`The file service has ended: ${reason}`),
  );
  closers.push(s3.close);
  return s3;
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Runs a function as the schedules of a deployed stage do: a minute after the start, and then regularly. */
function schedule(lambda: Lambda, name: string, everyInMilliseconds: number): () => Promise<void> {
  const run = () => void lambda.send(name, {});
  const first = setTimeout(run, minute);
  const timer = setInterval(run, everyInMilliseconds);
  return async () => {
    clearTimeout(first);
    clearInterval(timer);
  };
}

async function expectFree(port: number): Promise<void> {
  if (!(await isFree(port))) throw new Error(`Port ${port} is taken; try npm start -- --port ${port + 1}`);
}

async function migrate(lambda: Lambda, setPasswords: boolean): Promise<void> {
  const migrated = await lambda.invoke("ops-migrate", { setPasswords });
  if ("error" in migrated) throw new Error(migrated.error.errorMessage);
}

async function loadData(databaseUrl: string, { empty, scale: contributors, report }: ServiceOptions): Promise<void> {
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
