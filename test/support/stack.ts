import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, inject } from "vitest";
import { type PageHandler, startApiGateway } from "../../infra/aws-local/api-gateway/server.ts";
import { freePort } from "../../infra/aws-local/http/free-port.ts";
import { invokeApi } from "../../infra/aws-local/lambda/invoke-api.ts";
import { startLambda } from "../../infra/aws-local/lambda/lambda.ts";
import type { LambdaLimits } from "../../infra/aws-local/lambda/settings.ts";
import { startDataApi } from "../../infra/aws-local/test/data-api.ts";
import { startS3 } from "../../infra/aws-local/test/s3.ts";
import { imagePages } from "../../infra/local/pages/images.ts";
import { type ProviderUser, providerPages, providerPath } from "../../infra/local/pages/provider.ts";
import { localDocument } from "../../infra/local/stage/document.ts";
import { bucketsOf, settingsOf, signInVariables, type Timeouts } from "../../infra/local/stage/functions.ts";
import { newSecrets, newSignInSecrets, signInArns } from "../../infra/local/stage/secrets.ts";
import { addClients } from "./catalogue.ts";
import { declarationOf, expectDeclared, expectHeaders } from "./contract.ts";
import { openDatabase } from "./database.ts";
import { key, panelOrigin, useBucket, useDatabase } from "./environment.ts";
import { invoke } from "./invoke.ts";
import { print } from "./logged-errors.ts";
import { createDatabase } from "./own-database.ts";
import { startOwnPostgres } from "./own-postgres.ts";

export interface Request {
  /** The refresh token to send as cookie. */
  readonly as?: string | undefined;
  readonly path?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string | number>>;
  /** Sent as JSON; a string is sent as it is, and so are bytes. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Reply = Awaited<ReturnType<typeof call>>;

/** The whole service with a database of its own: gateway, bundles, Data API, PostgreSQL. */
export type Stack = Awaited<ReturnType<typeof startStack>>;

export interface StackOptions {
  /** The template of the database: `blank` is migrated and has two clients, `demo` also has the demo data. */
  readonly from?: "blank" | "demo";
  /** Whether it has a PostgreSQL of its own, which the test stops. */
  readonly ownPostgres?: boolean;
  /** Origins of the admin panel. */
  readonly allowedOrigins?: readonly string[];
  /** Whether there are the file service, S3 with its buckets, and its images under `/images/`. */
  readonly uploads?: boolean;
  /** Whether people can sign in: whom the provider of `npm start` knows, or where another provider is. */
  readonly signIn?: readonly ProviderUser[] | string;
  readonly limits?: Partial<LambdaLimits>;
  /** With a shorter timeout functions stop retrying earlier. */
  readonly timeouts?: Partial<Timeouts>;
  /** Other pages of the server. */
  readonly pages?: readonly PageHandler[];
  /** Further variables of functions, such as those of a stage with an edge. They are read when a function is loaded. */
  readonly variables?: (name: string) => Readonly<Record<string, string>>;
}

/** A stack for the tests of a file. */
export const useStack = (options?: StackOptions): Stack => useStarted(() => startStack(options));

/** Starts a stack before the tests, and closes it after them. Each begins without faults and with no call noted. */
export function useStarted<Started extends Stack>(start: () => Promise<Started>): Started {
  const stack = {} as Started;
  beforeAll(async () => void Object.assign(stack, await start()));
  beforeEach(() => {
    stack.dataApi.intercept(undefined);
    stack.dataApi.calls.length = 0;
    stack.s3?.intercept(undefined);
    if (stack.s3) stack.s3.requests.length = 0;
  });
  afterAll(() => stack.close?.());
  return stack;
}

/** Where people arrive who have signed in. */
export const signInPanel = `${panelOrigin}/start`;

/** Starts a stack for some of the tests of a file, which close it. */
export async function startStack({
  from = "blank",
  ownPostgres = false,
  allowedOrigins = [panelOrigin],
  uploads = false,
  signIn,
  limits = {},
  timeouts = {},
  pages = [],
  variables = () => ({}),
}: StackOptions = {}) {
  const postgres = ownPostgres ? await startOwnPostgres({ durable: true }) : undefined;
  const databaseUrl = postgres?.url ?? inject("ownerUrl");
  const database = postgres ? "postgres" : await createDatabase(from);
  const sql = openDatabase(`${databaseUrl}/${database}`);
  const texts = newSignInSecrets();
  const secrets = postgres ? newSecrets(postgres.url) : inject("secrets");
  const dataApi = await startDataApi({ databaseUrl, secrets: { ...secrets, ...texts }, key });
  useDatabase(database, dataApi.url, allowedOrigins);
  if (postgres) await migrate();
  if (from === "blank") await addClients(sql);
  delete process.env.IMAGE_BUCKET;
  const directory = uploads ? await mkdtemp(join(tmpdir(), "colophon-s3-")) : undefined;
  const s3 = directory ? await startS3({ directory, buckets: bucketsOf({ uploads }), key }) : undefined;
  if (s3) useBucket(s3.url);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const issuer = typeof signIn === "string" ? signIn : url + providerPath;
  const ofSignIn = signIn ? signInVariables({ issuer, panel: signInPanel }) : {};
  const lambda = await startLambda({
    outdir: inject("outdir"),
    limits,
    print,
    settingsOf: (name) => {
      const settings = settingsOf(name, timeouts);
      return { ...settings, variables: { ...settings.variables, ...ofSignIn, ...variables(name) } };
    },
  });
  const gateway = await startApiGateway({
    port,
    lambda,
    document: localDocument({ allowedOrigins, uploads, signIn: signIn !== undefined }),
    pages: [
      ...pages,
      invokeApi(lambda, key),
      ...(s3 ? [imagePages(s3.url, key)] : []),
      ...(typeof signIn === "object"
        ? [await providerPages({ url, clientSecret: texts[signInArns.client] ?? "", users: signIn })]
        : []),
    ],
  });
  process.env.API_URL = gateway.url;
  return {
    url: gateway.url,
    sql,
    dataApi,
    lambda,
    /** Undefined without uploads. */
    s3,
    /** The server of its own, if it has one. */
    postgres,
    /** Calls an endpoint by its path in `functions/` (`admin-roles/edit`) and checks the response against its declaration. */
    call: (name: string, request: Request = {}) => call(gateway.url, name, request),
    async close() {
      await gateway.close();
      await lambda.close();
      await s3?.close();
      if (directory) await rm(directory, { recursive: true });
      await dataApi.close();
      await sql.end();
      await postgres?.remove();
    },
  };
}

async function migrate(): Promise<void> {
  const lambda = await startLambda({ outdir: inject("outdir"), settingsOf });
  await invoke({ lambda }, "ops-migrate", {});
  await lambda.close();
}

async function call(url: string, name: string, { as, path = {}, query = {}, body, headers = {} }: Request) {
  const declaration = declarationOf(name);
  const target = declaration.path.replace(/\{(\w+)\}/g, (_, key) => encodeURIComponent(path[key] ?? ""));
  const search = new URLSearchParams(Object.entries(query).map(([key, value]): [string, string] => [key, `${value}`]));
  const response = await fetch(`${url}${target}?${search}`, {
    method: declaration.method,
    headers: {
      ...(as === undefined ? {} : { Cookie: `refreshToken=${as}` }),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    body: typeof body === "string" || Buffer.isBuffer(body) ? body : (JSON.stringify(body) ?? null),
  });
  const text = await response.text();
  const reply = {
    status: response.status,
    headers: response.headers,
    body: text === "" ? undefined : JSON.parse(text),
  };
  expectHeaders(declaration, reply.status, reply.headers, query.limit === undefined ? undefined : Number(query.limit));
  if (reply.status !== 304) expectDeclared(declaration, reply.status, reply.body);
  return reply;
}
