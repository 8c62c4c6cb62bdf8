import { type PageHandler, startApiGateway } from "./api-gateway/server.ts";
import { clientVariables } from "./client-variables.ts";
import type { DataApiOptions } from "./data-api/server.ts";
import { freePort, isFree } from "./http/free-port.ts";
import { type Key, newKey } from "./http/signature.ts";
import { isDebugged } from "./lambda/environment.ts";
import { invokeApi } from "./lambda/invoke-api.ts";
import { type Lambda, type LambdaOptions, startLambda } from "./lambda/lambda.ts";
import { type Database, type DatabaseOptions, openDatabase, type Watch } from "./postgres/database.ts";
import { type S3Options, startS3 } from "./s3/server.ts";
import { masterSecret, type Secrets } from "./secrets-manager/secrets-manager.ts";
import { inThread } from "./thread.ts";

export interface AwsLocalOptions extends Partial<Watch> {
  /** Of API Gateway. Default: a free one. */
  readonly port?: number;
  /** The OpenAPI document that API Gateway would import. */
  readonly document: unknown;
  /** Beside their own variables functions get those by which the SDK finds the services here. */
  readonly functions: LambdaOptions;
  readonly database: DatabaseOptions;
  /** The secrets of a database. Default: that of its owner, as `masterSecretArn`. */
  readonly secrets?: (database: Database) => Secrets;
  /** Default: no S3. */
  readonly s3?: Pick<S3Options, "directory" | "buckets">;
  /** The key that requests to all services but the API must be signed with. Default: a new one. */
  readonly key?: Key;
  /**
   * Runs before the API opens, for example to migrate.
   * @returns other pages of the API's server, called one after another before its routes
   */
  readonly beforeOpen?: (services: Services) => Promise<readonly PageHandler[]>;
}

/** What runs before the API does. */
export interface Services {
  readonly key: Key;
  readonly database: Database;
  readonly lambda: Lambda;
  /** Of the Data API and of Secrets Manager. */
  readonly dataApiUrl: string;
  readonly s3Url: string | undefined;
}

const hour = 60 * 60_000;

/**
 * Starts the services of AWS that run one API: PostgreSQL, Data API, Secrets Manager, S3, Lambda and API Gateway. When
 * one of them does not start, the others are closed again.
 */
export async function startAwsLocal(options: AwsLocalOptions) {
  const { port = await freePort(), key = newKey(), report = () => {} } = options;
  const { onExit = (reason) => report(reason), secrets = ({ serverUrl }) => masterSecret(serverUrl) } = options;
  if (!(await isFree(port))) throw new Error(`Port ${port} is taken`);
  // When one does not start, the others are closed.
  await using started = new AsyncDisposableStack();
  const database = await openDatabase(options.database, { report, onExit });
  started.defer(database.stop);
  const dataApi = await inThread<DataApiOptions>(
    {
      module: import.meta.resolve("./data-api/server.ts"),
      start: "startDataApi",
      options: { databaseUrl: database.serverUrl, secrets: secrets(database), key },
    },
    (reason) => onExit(`The Data API has ended: ${reason}`),
  );
  started.defer(dataApi.close);
  const s3 = options.s3 && (await startS3({ ...options.s3, key }));
  if (s3) started.defer(s3.close);
  const endpoints = { dataApiUrl: dataApi.url, s3Url: s3?.url };
  const variables = { ...clientVariables(key, endpoints), ...options.functions.variables };
  const lambda = await startLambda({ ...options.functions, variables });
  started.defer(lambda.close);
  const services = { key, database, lambda, ...endpoints };
  const pages = (await options.beforeOpen?.(services)) ?? [];
  const gateway = await startApiGateway({
    port,
    document: options.document,
    lambda,
    pages: [...pages, invokeApi(lambda, key)],
    // A developer may look at a function that stands at a breakpoint.
    ...(isDebugged && { timeoutInMilliseconds: hour }),
  });
  started.defer(gateway.close);
  const closers = started.move();
  return {
    ...services,
    /** Of API Gateway, and of Lambda's Invoke API. */
    url: gateway.url,
    close: () => closers.disposeAsync(),
  };
}
