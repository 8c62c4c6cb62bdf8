import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { publicReads } from "../../infra/api/public-reads.ts";
import { type ApiGateway, startApiGateway } from "../../infra/aws-local/api-gateway/server.ts";
import { type DataApi, startDataApi } from "../../infra/aws-local/data-api/server.ts";
import { type Lambda, startLambda } from "../../infra/aws-local/lambda/lambda.ts";
import { type Postgres, startPostgres } from "../../infra/aws-local/postgres/server.ts";
import { localDocument } from "../../infra/local/stage/document.ts";
import { settingsOf } from "../../infra/local/stage/functions.ts";
import { newSecrets } from "../../infra/local/stage/secrets.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { aContributor, addClients, aPublisher, aSeries } from "../support/catalogue.ts";
import { openDatabase, type Sql } from "../support/database.ts";
import { copyEmptyCluster } from "../support/empty-cluster.ts";
import { key, panelOrigin, useDatabase } from "../support/environment.ts";
import { anAdministrator } from "../support/people.ts";
import { hasSharedCache, type SharedCache, startSharedCache } from "./shared-cache.ts";

let directory: string;
let server: Postgres;
let dataApi: DataApi;
let lambda: Lambda;
let gateway: ApiGateway;
let cache: SharedCache;
let sql: Sql;
let token: string;

const start = (port?: number) =>
  startPostgres({ directory: join(directory, "postgres"), durable: false, ...(port && { port }) });

/** A function stops retrying 5 s before its timeout, so with these it stops after three seconds; public reads after 6.5. */
const shortTimeouts = { bufferedInMilliseconds: 8_000, longInMilliseconds: 8_000 };

/** How long the edge of a stage keeps answers. */
const day = 86_400;

/** A PostgreSQL of its own, because the test stops it. */
beforeAll(async () => {
  if (!hasSharedCache) return;
  directory = await mkdtemp(join(tmpdir(), "colophon-outage-"));
  await copyEmptyCluster(join(directory, "postgres"));
  server = await start();
  dataApi = await startDataApi({ databaseUrl: server.url, secrets: newSecrets(server.url), key });
  useDatabase("postgres", dataApi.url);
  const migration = await startLambda({ outdir: inject("outdir"), settingsOf });
  await migration.invoke("ops-migrate", {});
  await migration.close();
  lambda = await startLambda({
    outdir: inject("outdir"),
    settingsOf(name) {
      const settings = settingsOf(name, shortTimeouts);
      return { ...settings, variables: { ...settings.variables, SHARED_CACHE_SECONDS: `${day}` } };
    },
  });
  gateway = await startApiGateway({ lambda, document: localDocument({ allowedOrigins: [panelOrigin] }) });
  cache = await startSharedCache(gateway.url, publicReads(endpoints));
  sql = openDatabase(`${server.url}/postgres`, { max: 1 });
  await addClients(sql);
  token = (await anAdministrator(sql)).token;
});

afterAll(async () => {
  await cache?.close();
  await gateway?.close();
  await lambda?.close();
  await dataApi?.close();
  await sql?.end();
  await server?.stop();
  if (directory) await rm(directory, { recursive: true });
});

/** At least one URL of every public read that may be cached. */
async function warmUrls(): Promise<string[]> {
  const contributor = await aContributor(sql);
  const publisher = await aPublisher(sql);
  await aSeries(sql, { by: contributor, from: publisher });
  return [
    "/contributors?client=1&limit=999",
    "/contributors?client=1&limit=50&order=added-desc",
    `/contributor/slug/${contributor.slug}`,
    `/contributor/works/${contributor.id}?client=1&limit=50`,
    "/publishers?limit=50",
    `/publisher/slug/${publisher.slug}`,
    `/publisher/publications/${publisher.id}?client=1&limit=50`,
  ];
}

describe.skipIf(!hasSharedCache)("While the database is stopped", () => {
  it("what was read in the last day is served for an hour, and the panel gets 503 with Retry-After", async () => {
    const early = await warmUrls();
    const late = await warmUrls();
    const urls = [...new Set([...early, ...late])];
    const readAll = (urls: readonly string[]) => Promise.all(urls.map((url) => cache.send(url)));
    const before = new Map<string, string>();
    const warm = async (urls: readonly string[]) => {
      const cold = urls.filter((url) => !before.has(url));
      for (const [n, { status, cache, text }] of (await readAll(cold)).entries()) {
        expect([status, cache]).toEqual([200, "MISS"]);
        before.set(`${cold[n]}`, text);
      }
    };
    await warm(early);
    await cache.advance(day - 30);
    await warm(late);

    await sql.end();
    await server.stop();
    // The early ones are fresh, then stale while the cache asks behind them, and then stale because that fails.
    for (const [seconds, source] of [
      [20, "HIT"],
      [40, "STALE"],
      [3_540, "STALE"],
    ] as const) {
      await cache.advance(seconds);
      const answers = await readAll(urls);
      expect(answers.map(({ status, text }) => [status, text])).toEqual(urls.map((url) => [200, before.get(url)]));
      const isLate = (url: string | undefined) => !early.includes(`${url}`);
      expect(answers.map(({ cache }) => cache)).toEqual(urls.map((url) => (isLate(url) ? "HIT" : source)));
    }

    const headers = { Cookie: `refreshToken=${token}` };
    const refused = [
      await cache.send("/admin-contributors?client=1", { headers }),
      await cache.send("/contributor/slug/cold"),
    ];
    for (const { status, headers } of refused)
      expect([status, headers["retry-after"], headers["cache-control"]]).toEqual([503, "5", "no-store"]);
  });

  it("later changes are visible when it runs again", async () => {
    server = await start(Number(new URL(server.url).port));
    sql = openDatabase(`${server.url}/postgres`, { max: 1 });
    await aContributor(sql, { first_name: "Afterwards" });

    expect(await cache.send("/contributors?client=1")).toMatchObject({
      status: 200,
      text: expect.stringContaining("Afterwards"),
    });
    const headers = { Cookie: `refreshToken=${token}` };
    expect((await cache.send("/admin-contributors?client=1", { headers })).status).toBe(200);
  });
});
