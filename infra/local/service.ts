import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isAmong, isOrigin } from "../../lib/http/origins.ts";
import type { PageHandler } from "../aws-local/api-gateway/server.ts";
import { isFree } from "../aws-local/http/free-port.ts";
import type { Lambda } from "../aws-local/lambda/lambda.ts";
import { withConnection } from "../aws-local/postgres/connection.ts";
import { startAwsLocal } from "../aws-local/start.ts";
import { cachedBuild } from "../build/cached-build.ts";
import { writeCredentials } from "./credentials.ts";
import { type DatabaseOptions, findDatabase, isEmpty, isLoopback } from "./database.ts";
import { avatars, covers, drawingPages } from "./demo/drawings.ts";
import { loadDemo, readCatalogue } from "./demo/load.ts";
import { scale } from "./demo/scale.ts";
import { storeAvatars } from "./demo/store-avatars.ts";
import { type DemoUser, renewTokens } from "./demo/users.ts";
import { printLog, printRequests } from "./log.ts";
import { docs } from "./pages/docs.ts";
import { imagePages } from "./pages/images.ts";
import { loopbackOrigins } from "./pages/origins.ts";
import { providerPages, providerPath } from "./pages/provider.ts";
import { migrate, openEdits } from "./rebuild-on-edit.ts";
import { localDocument } from "./stage/document.ts";
import { bucketsOf, settingsOf, variablesOf } from "./stage/functions.ts";
import { newSecrets, newSignInSecrets, signInArns } from "./stage/secrets.ts";

export interface ServiceOptions extends DatabaseOptions {
  readonly port: number;
  /** Origins of pages that may call administrative endpoints, beside those on this machine. */
  readonly origins: readonly string[];
  /** Where people arrive who have signed in; default: the reference. */
  readonly panel?: string | undefined;
  readonly uploads: boolean;
  /** Without the demo data. */
  readonly empty: boolean;
  /** Number of made-up contributors to add. */
  readonly scale: number;
  /** Sets the passwords of roles that exist on the server with others. */
  readonly setPasswords: boolean;
  readonly report: (line: string) => void;
  /** Called with the reason when a server has ended for good. */
  readonly onExit: (reason: string) => void;
}

export type LocalService = Awaited<ReturnType<typeof startService>>;

/** Starts the whole service on this machine, as `infra/aws-local` runs any service: with its data, edits and schedules. */
export async function startService(options: ServiceOptions) {
  const { port, directory, uploads, report } = options;
  // Before anything else: if another local service has the port, its files are in use.
  if (!(await isFree(port))) throw new Error(`Port ${port} is taken; try npm start -- --port ${port + 1}`);
  const { outdir } = await cachedBuild();
  const database = await findDatabase(options);
  const url = `http://localhost:${port}`;
  const allowedOrigins = [...loopbackOrigins, ...options.origins];
  const signIn = { issuer: url + providerPath, panel: options.panel ?? `${url}/docs` };
  const texts = newSignInSecrets();
  const stage = { database: database.name, allowedOrigins, imageBaseUrl: `${url}/images`, uploads, signIn };
  const edits = openEdits(report);
  let users: readonly DemoUser[] = [];

  const aws = await startAwsLocal({
    port,
    document: localDocument({ allowedOrigins, uploads, signIn: true }),
    // `ops-smoke` asks the API.
    functions: {
      outdir,
      settingsOf,
      prepare: edits.prepare,
      print: printLog,
      variables: { ...variablesOf(stage), API_URL: url },
    },
    database,
    // The owner has a new password at each start, the superuser always the same.
    secrets: ({ serverUrl, adminUrl }) => ({
      ...newSecrets(serverUrl, decodeURIComponent(new URL(adminUrl).password)),
      ...texts,
    }),
    s3: { directory: join(directory, "s3"), buckets: bucketsOf({ uploads }) },
    report,
    onExit: options.onExit,
    async beforeOpen({ key, database: { serverUrl, name }, lambda, s3Url }) {
      await writeCredentials(directory, key, s3Url);
      await migrate(lambda, options.databaseUrl === undefined || options.setPasswords);
      report("The database is up to date");
      const databaseUrl = `${serverUrl}/${encodeURIComponent(name)}`;
      await loadData(lambda, databaseUrl, options);
      if (uploads && s3Url) await storeAvatars(databaseUrl, s3Url, key);
      // Anyone who opens the page can be each of these users, so a database on another machine has none.
      if (isLoopback(databaseUrl))
        users = await withConnection(databaseUrl, (client) => renewTokens(client, signIn.issuer));
      for (const { token, isRenewed } of users)
        if (isRenewed) report(`${token} works again: its session had been ended`);
      const catalogue = await readCatalogue();
      return [
        printRequests,
        reportForeignOrigins(allowedOrigins, report),
        options.panel === undefined ? docs("here", url) : docs("at the panel"),
        await providerPages({ url, clientSecret: texts[signInArns.client] ?? "", users }),
        drawingPages(options.empty ? [] : [...covers(catalogue), ...(uploads ? [] : avatars(catalogue))]),
        ...(uploads && s3Url ? [imagePages(s3Url, key)] : []),
      ];
    },
  });

  edits.follow(aws.lambda);
  const schedules = [schedule(aws.lambda, "ops-tidy", day)];
  if (uploads) schedules.push(schedule(aws.lambda, "ops-remove-images", 10 * minute));
  return {
    url,
    users,
    async close(): Promise<void> {
      for (const end of schedules) end();
      edits.close();
      await aws.close();
    },
  };
}

/**
 * Says once of each origin that its pages are refused, and what would allow them. It never responds. A response for any
 * origin has `*`.
 */
function reportForeignOrigins(allowedOrigins: readonly string[], report: (line: string) => void): PageHandler {
  const reported = new Set<string>();
  return ({ headers: { origin } }, response) => {
    if (origin === undefined || isAmong(allowedOrigins, origin)) return false;
    response.once("close", () => {
      // No setting allows a page to read the other pages of this machine, and an aborted request got no response.
      const responded = response.headersSent && response.hasHeader("x-amzn-requestid");
      if (!responded || reported.has(origin) || response.hasHeader("access-control-allow-origin")) return;
      reported.add(origin);
      const setting = isOrigin(origin)
        ? `npm start -- --origin ${origin} (on AWS "allowedOrigins" in infra/stages.ts) would allow it`
        : "only a page with an origin of its own can be allowed";
      report(`Refused a page of the origin ${origin}: ${setting}`);
    });
    return false;
  };
}

const minute = 60_000;
const day = 24 * 60 * minute;

/** Runs a function as the schedules of a deployed stage do: a minute after the start, and then regularly. */
function schedule(lambda: Lambda, name: string, everyInMilliseconds: number): () => void {
  const run = () => void lambda.send(name, {});
  const first = setTimeout(run, minute);
  const timer = setInterval(run, everyInMilliseconds);
  return () => {
    clearTimeout(first);
    clearInterval(timer);
  };
}

async function loadData(lambda: Lambda, databaseUrl: string, options: ServiceOptions): Promise<void> {
  const { directory, empty, scale: contributors, report } = options;
  // Is there while the demo data are loaded, so a start that was killed meanwhile does not leave half of them for good.
  const mark = join(directory, "loading-demo-data");
  if (!empty && (existsSync(mark) || (await isEmpty(databaseUrl)))) {
    // The tokens of the demo users are public, so a database on another machine does not get these users.
    const users = isLoopback(databaseUrl);
    await writeFile(mark, "");
    await loadDemo(lambda, databaseUrl, { users });
    await rm(mark);
    report(users ? "Demo data are loaded" : "Demo data are loaded, without users: the database is on another machine");
  }
  if (contributors > 0) {
    report(`Adding ${contributors} made-up contributors`);
    await scale(databaseUrl, contributors);
  }
}
