import { functionName, isPublicRecord } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import type { FunctionSettings } from "../../aws-local/lambda/settings.ts";
import { clusterArn } from "../../aws-local/secrets-manager/arns.ts";
import { databaseRoleOf, secretVariables } from "../../build/database-role.ts";
import { secretArns, signInArns } from "./secrets.ts";

const declarations = new Map(endpoints.map((each) => [functionName(each), each]));

export interface Timeouts {
  /** Of functions that respond to API Gateway in one piece. */
  readonly bufferedInMilliseconds: number;
  /** Of those that show everybody one record. */
  readonly publicRecordInMilliseconds: number;
  /** Of functions that stream, and of those that operators and deployments invoke. */
  readonly longInMilliseconds: number;
}

/** As in infra/stacks/shared/service-function.ts. */
const timeouts: Timeouts = {
  bufferedInMilliseconds: 29_000,
  publicRecordInMilliseconds: 8_000,
  longInMilliseconds: 900_000,
};

/** The settings of a function, as a deployed stage has them. */
export function settingsOf(name: string, changed: Partial<Timeouts> = {}): FunctionSettings {
  const { bufferedInMilliseconds, publicRecordInMilliseconds, longInMilliseconds } = { ...timeouts, ...changed };
  const endpoint = declarations.get(name);
  const isLong = !endpoint || "list" in endpoint.response;
  const isRecord = endpoint && isPublicRecord(endpoint);
  const bufferedMax = Math.min(isRecord ? publicRecordInMilliseconds : Infinity, bufferedInMilliseconds);
  return {
    variables: {
      DATABASE_SECRET_ARN: secretArns[databaseRoleOf(name)],
      ...(name.startsWith("sign-in-") && { SIGN_IN_KEY_ARN: signInArns.key }),
      ...(name === "sign-in-callback" && { SIGN_IN_CLIENT_SECRET_ARN: signInArns.client }),
    },
    timeoutInMilliseconds: isLong ? longInMilliseconds : bufferedMax,
    imports: endpoint?.needsFileService && endpoint.method === "POST" ? [import.meta.resolve("./shared-sharp.ts")] : [],
  };
}

/** The bucket of images on this machine. */
export const imageBucket = "images";

/** The bucket of imports and exports. */
export const transferBucket = "transfers";

/** The buckets of S3 on this machine. */
export const bucketsOf = ({ uploads }: Pick<Stage, "uploads">): readonly string[] =>
  uploads ? [transferBucket, imageBucket] : [transferBucket];

export interface Stage {
  /** The name of the database. */
  readonly database: string;
  readonly allowedOrigins?: readonly string[];
  readonly imageBaseUrl?: string;
  readonly uploads?: boolean;
  /** Without it there is no sign-in. */
  readonly signIn?: SignIn;
}

export interface SignIn {
  readonly issuer: string;
  readonly panel: string;
}

/** By which the provider of this machine knows the service. */
export const signInClientId = "colophon";

/** The variables of sign-in, beside the secrets of its functions. */
export const signInVariables = ({ issuer, panel }: SignIn): Readonly<Record<string, string>> => ({
  SIGN_IN_ISSUER: issuer,
  SIGN_IN_CLIENT_ID: signInClientId,
  SIGN_IN_PANEL: panel,
  SIGN_IN_SESSION_DAYS: "30",
});

/** The environment variables of all functions, beside those of the SDK; all but migrations get another secret. */
export const variablesOf = (stage: Stage): Readonly<Record<string, string>> => ({
  DATABASE_CLUSTER_ARN: clusterArn,
  DATABASE_SECRET_ARN: secretArns.master,
  ...secretVariables(secretArns),
  DATABASE_NAME: stage.database,
  ALLOWED_ORIGINS: (stage.allowedOrigins ?? []).join(),
  IMAGE_BASE_URL: stage.imageBaseUrl ?? "http://localhost:3000/images",
  TRANSFER_BUCKET: transferBucket,
  ...(stage.uploads && { IMAGE_BUCKET: imageBucket }),
  ...(stage.signIn && signInVariables(stage.signIn)),
});
