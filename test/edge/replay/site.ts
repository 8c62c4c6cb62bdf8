import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { inject } from "vitest";
import { publicReads } from "../../../infra/api/public-reads.ts";
import { listenToClients } from "../../../infra/aws-local/http/listen.ts";
import { invokeApi } from "../../../infra/aws-local/lambda/invoke-api.ts";
import { type Lambda, startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { settingsOf } from "../../../infra/local/stage/functions.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { startCloudFront } from "../../support/cloudfront.ts";
import { key, panelOrigin } from "../../support/environment.ts";
import { anAdministrator } from "../../support/people.ts";
import { startStack } from "../../support/stack.ts";
import { type SharedCache, startSharedCache } from "../shared-cache.ts";
import { fill } from "./catalogue.ts";

export interface ReadResponse {
  readonly status: number;
  readonly text: string;
}

export interface Traffic {
  /** The API's response to a public read, before it reaches the edge. */
  onResponse(url: string, response: () => ReadResponse, startedAt: number): void;
  /** A request to run `ops-invalidate`. Undefined if it gets lost. */
  onNotification(): boolean;
  /** How long CloudFront takes for an invalidation that it has accepted. */
  delayInMilliseconds(): number;
  now(): number;
}

export type Site = Awaited<ReturnType<typeof startSite>>;

const hour = 3_600;

/** A stage with an edge: the service, Varnish before it, and CloudFront's API, which tells Varnish. */
export async function startSite(traffic: Traffic) {
  const variables: Record<string, string> = {
    SHARED_CACHE_SECONDS: `${hour}`,
    INVALIDATE_FUNCTION: "ops-invalidate",
    API_DISTRIBUTION: "E2QWRUHAPOMQZL",
    INVALIDATIONS_A_DAY: "100000",
  };
  const stack = await startStack({ uploads: true, variables: () => variables });
  await fill(`${inject("ownerUrl")}/${process.env.DATABASE_NAME}`, stack.sql);
  await stack.sql`delete from stale_tags`;

  let cache: SharedCache | undefined;
  const invalidated: string[] = [];
  const invalidations = new Set<Promise<unknown>>();
  const cloudFront = await startCloudFront((items) => {
    const invalidation = sleep(traffic.delayInMilliseconds())
      .then(() => cache?.invalidate(items))
      .then(() => invalidated.push(...items));
    invalidations.add(invalidation);
    void invalidation.finally(() => invalidations.delete(invalidation));
  });
  const openInvalidator = () =>
    startLambda({
      outdir: inject("outdir"),
      // Changes come much faster than 200 a day, and each notifies a run.
      limits: { environments: 64 },
      settingsOf: (name) => ({ ...settingsOf(name), variables: { ...settingsOf(name).variables, ...variables } }),
    });
  let invalidator = await openInvalidator();
  const send: Lambda["send"] = (name, event) => invalidator.send(name, event);
  const runApi = invokeApi({ ...stack.lambda, send }, key);
  const lambdaApi = await listen(async (request, response) => {
    if (request.method === "POST" && !traffic.onNotification()) return void request.socket.destroy();
    if (!(await runApi(request, response))) response.writeHead(404).end();
  });

  const agent = new Agent({ keepAlive: true });
  const forward = async (incoming: Pick<IncomingMessage, "method" | "url" | "headers">, body: Buffer) => {
    const headers = { ...incoming.headers, host: new URL(stack.url).host };
    const sent = request(`${stack.url}${incoming.url}`, { agent, method: `${incoming.method}`, headers });
    sent.end(body);
    const [response]: IncomingMessage[] = await once(sent, "response");
    if (!response) throw new Error("No response");
    return { response, body: await buffer(response) };
  };
  const network = await listen(async (incoming, outgoing) => {
    const startedAt = traffic.now();
    const { response, body } = await forward(incoming, await buffer(incoming));
    if (incoming.method === "GET") traffic.onResponse(`${incoming.url}`, () => responseOf(response, body), startedAt);
    outgoing.writeHead(response.statusCode ?? 500, response.headers).end(body);
  });
  cache = await startSharedCache(network.url, publicReads(endpoints));
  Object.assign(variables, { AWS_ENDPOINT_URL_LAMBDA: lambdaApi.url, AWS_ENDPOINT_URL_CLOUDFRONT: cloudFront.url });

  const edge = cache;
  const cookie = `refreshToken=${(await anAdministrator(stack.sql)).token}`;
  return {
    sql: stack.sql,
    cache: edge,
    cloudFront,
    async panel(method: "POST" | "DELETE", path: string, body?: object) {
      const type = path.includes("/edit/") ? "application/merge-patch+json" : "application/json";
      const headers = { Cookie: cookie, Origin: panelOrigin, "Content-Type": type };
      const response = await edge.send(path, { method, headers, body: body && JSON.stringify(body) });
      if (response.status !== 200) throw new Error(`${method} ${path}: ${response.text}`);
      return { location: `${response.headers.location}` };
    },
    /** Reads past the edge. */
    async ask(url: string): Promise<ReadResponse> {
      const { response, body } = await forward({ method: "GET", url, headers: {} }, Buffer.alloc(0));
      return responseOf(response, body);
    },
    /** Holds the database's next response about a slug, and calls back when it is there. */
    hold(next: { readonly slug: string; readonly until: Promise<unknown>; arrived(): void }): void {
      stack.dataApi.intercept(({ parameters }) => {
        if (!parameters?.some(({ value }) => value?.stringValue === next.slug)) return undefined;
        stack.dataApi.intercept(undefined);
        next.arrived();
        return { kind: "hold", until: next.until };
      });
    },
    /** The items that the edge has invalidated, the oldest first. */
    invalidated,
    /** Waits until the edge has invalidated all that CloudFront has accepted. */
    quiet: () => Promise.all(invalidations),
    /** Runs `ops-invalidate`, as its schedule does. */
    sweep: () => void invalidator.send("ops-invalidate", {}).catch(() => {}),
    /** Ends all runs of `ops-invalidate` where they are. */
    async crash(): Promise<void> {
      const crashing = invalidator;
      invalidator = await openInvalidator();
      await crashing.close();
    },
    async close() {
      await invalidator.close();
      await Promise.all(invalidations);
      await edge.close();
      agent.destroy();
      for (const server of [network, lambdaApi, cloudFront]) await server.close();
      await stack.close();
    },
  };
}

/** A list shows one of several series at random. */
const randomSeries = /("series_count":(?!1,)\d+),"random_series":\{[^}]*\}/g;

function responseOf({ statusCode = 500, headers }: IncomingMessage, body: Buffer): ReadResponse {
  const text = headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
  return { status: statusCode, text: withoutRandom(text.toString()) };
}

export const withoutRandom = (text: string): string => text.replace(randomSeries, "$1");

const listen = (handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>) =>
  listenToClients(
    createServer((request, response) => {
      handle(request, response).catch(() => request.socket.destroy());
    }),
  );
