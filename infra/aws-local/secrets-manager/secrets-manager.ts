import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import * as z from "zod/mini";
import { ServiceError, validation } from "../http/service-error.ts";
import { masterSecretArn } from "./arns.ts";

/*
 * The operations of Secrets Manager that functions use (AWS JSON 1.1). It is here because the Data API reads the same
 * secrets: it logs in with the current version.
 */

/** The content of a secret that is a login. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** By ARN. */
export type Logins = Readonly<Record<string, Credentials>>;

/** By ARN: logins, and other texts. */
export type Secrets = Readonly<Record<string, Credentials | string>>;

/** The secret of the user in a server's URL. */
export function masterSecret(serverUrl: string): Logins {
  const { username, password } = new URL(serverUrl);
  const credentials = { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  return { [masterSecretArn]: credentials };
}

/** The operation of a request to Secrets Manager; undefined for requests to the Data API. */
export const secretsOperationOf = ({ headers }: IncomingMessage): string | undefined =>
  /^secretsmanager\.(\w+)$/.exec(`${headers["x-amz-target"]}`)?.[1];

type Secret = ReturnType<typeof secretOf>;

/** The values of its versions by their ids, and the id of the version with the label AWSCURRENT. */
function secretOf(content: Credentials | string) {
  const current: string = randomUUID();
  return { texts: new Map([[current, typeof content === "string" ? content : JSON.stringify(content)]]), current };
}

const request = z.strictObject({
  SecretId: z.string(),
  VersionId: z.optional(z.string()),
  ClientRequestToken: z._default(z.string().check(z.minLength(32), z.maxLength(64)), randomUUID),
  SecretString: z.optional(z.string()),
  /** Without it, the new version is the current one. */
  VersionStages: z.optional(z.tuple([z.literal("AWSPENDING")])),
  VersionStage: z.optional(z.literal("AWSCURRENT")),
  MoveToVersionId: z.optional(z.string()),
  RemoveFromVersionId: z.optional(z.string()),
});

type Request = z.infer<typeof request>;

/** AWS, Secrets Manager API Reference; errors are those that it names there. */
const operations: Readonly<Record<string, (secret: Secret, request: Request) => object>> = {
  GetSecretValue({ texts, current }, { VersionId = current }) {
    const SecretString = texts.get(VersionId);
    if (SecretString === undefined) throw notFound("secret value");
    return { SecretString, VersionId };
  },

  PutSecretValue(secret, { ClientRequestToken: VersionId, SecretString = "", VersionStages }) {
    const { texts } = secret;
    if ((texts.get(VersionId) ?? SecretString) !== SecretString)
      throw new ServiceError(400, "ResourceExistsException", "A version with this id has another value.");
    texts.set(VersionId, SecretString);
    if (!VersionStages) secret.current = VersionId;
    return { VersionId };
  },

  UpdateSecretVersionStage(secret, { MoveToVersionId = "", RemoveFromVersionId }) {
    if (!secret.texts.has(MoveToVersionId)) throw notFound("version");
    if (secret.current !== RemoveFromVersionId)
      throw new ServiceError(400, "InvalidParameterException", "Another version has the label: name that one.");
    secret.current = MoveToVersionId;
    return {};
  },
};

const notFound = (what: string) =>
  new ServiceError(400, "ResourceNotFoundException", `Secrets Manager can't find the specified ${what}.`);

export function openSecrets(contents: Secrets) {
  const secrets = new Map(Object.entries(contents).map(([arn, content]) => [arn, secretOf(content)]));

  return {
    /** The current version of a secret, with which the Data API logs in. */
    credentialsOf(arn: string): Credentials {
      const secret = secrets.get(arn);
      if (!secret) throw new ServiceError(400, "SecretsErrorException", "The secret provided wasn't found.");
      return JSON.parse(secret.texts.get(secret.current) ?? "");
    },

    /** Runs an operation and returns the JSON text of its response. */
    respond(name: string, body: unknown): string {
      const operation = operations[name];
      if (!operation) throw new ServiceError(400, "UnknownOperationException");
      const { data, error } = z.safeParse(request, body);
      if (!data) throw validation(error.message);
      const secret = secrets.get(data.SecretId);
      if (!secret) throw notFound("secret");
      return JSON.stringify({ ARN: data.SecretId, ...operation(secret, data) });
    },
  };
}
