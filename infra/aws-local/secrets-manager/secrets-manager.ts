import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import * as z from "zod/mini";
import { ServiceError, validation } from "../http/service-error.ts";
import { masterSecretArn } from "./arns.ts";

/*
 * The operations of Secrets Manager that functions use (AWS JSON 1.1). It is here because the Data API reads the same
 * secrets: it logs in with the current version.
 */

/** The content of a secret. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** By ARN. */
export type Secrets = Readonly<Record<string, Credentials>>;

/** Other secrets, by ARN. */
export type SecretTexts = Readonly<Record<string, string>>;

/** The secret of the user in a server's URL. */
export function masterSecret(serverUrl: string): Secrets {
  const { username, password } = new URL(serverUrl);
  const credentials = { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  return { [masterSecretArn]: credentials };
}

export interface SecretsManager {
  /** The current version of a secret, with which the Data API logs in. */
  credentialsOf(secretArn: string): Credentials;
  /** Runs an operation and gives the JSON text of its response. */
  answer(operation: string, body: unknown): string;
}

/** The operation of a request to Secrets Manager; undefined for requests to the Data API. */
export const secretsOperationOf = ({ headers }: IncomingMessage): string | undefined =>
  /^secretsmanager\.(\w+)$/.exec(`${headers["x-amz-target"]}`)?.[1];

interface Secret {
  /** The values of the versions, by version id. */
  readonly texts: Map<string, string>;
  /** The version id of each staging label. */
  readonly stages: Map<string, string>;
}

const current = "AWSCURRENT";

function secretOf(text: string): Secret {
  const id = randomUUID();
  return { texts: new Map([[id, text]]), stages: new Map([[current, id]]) };
}

const request = z.object({
  SecretId: z.string(),
  ClientRequestToken: z.optional(z.string().check(z.minLength(32), z.maxLength(64))),
  SecretString: z.optional(z.string()),
  VersionStages: z._default(z.array(z.string()), [current]),
  VersionId: z.optional(z.string()),
  VersionStage: z.optional(z.string()),
  MoveToVersionId: z.optional(z.string()),
  RemoveFromVersionId: z.optional(z.string()),
});

type Request = z.infer<typeof request>;

/** AWS, Secrets Manager API Reference; errors are those that it names there. */
const operations: Readonly<Record<string, (secret: Secret, request: Request) => object>> = {
  GetSecretValue({ texts, stages }, { VersionId, VersionStage }) {
    const id = VersionId ?? stages.get(VersionStage ?? current) ?? "";
    const text = texts.get(id);
    if (text === undefined || (VersionStage && stages.get(VersionStage) !== id)) throw notFound("secret value");
    return { SecretString: text, VersionId: id };
  },

  PutSecretValue({ texts, stages }, { ClientRequestToken: id = randomUUID(), SecretString = "", VersionStages }) {
    if ((texts.get(id) ?? SecretString) !== SecretString)
      throw new ServiceError(400, "ResourceExistsException", "A version with this id has another value.");
    texts.set(id, SecretString);
    for (const stage of VersionStages) move(stages, stage, id);
    return { VersionId: id, VersionStages };
  },

  UpdateSecretVersionStage({ texts, stages }, { VersionStage = "", MoveToVersionId = "", RemoveFromVersionId }) {
    if (!texts.has(MoveToVersionId)) throw notFound("version");
    if (stages.has(VersionStage) && stages.get(VersionStage) !== RemoveFromVersionId)
      throw new ServiceError(400, "InvalidParameterException", "The label is another version's: name that one.");
    move(stages, VersionStage, MoveToVersionId);
    return {};
  },
};

/** Moves a staging label. The version that was current becomes the previous one. */
function move(stages: Secret["stages"], stage: string, id: string): void {
  const former = stages.get(stage);
  stages.set(stage, id);
  if (stage === current && former !== undefined && former !== id) stages.set("AWSPREVIOUS", former);
}

const notFound = (what: string) =>
  new ServiceError(400, "ResourceNotFoundException", `Secrets Manager can't find the specified ${what}.`);

export function openSecrets(logins: Secrets, texts: SecretTexts = {}): SecretsManager {
  const secrets = new Map([
    ...Object.entries(logins).map(([arn, credentials]) => [arn, secretOf(JSON.stringify(credentials))] as const),
    ...Object.entries(texts).map(([arn, text]) => [arn, secretOf(text)] as const),
  ]);

  return {
    credentialsOf(arn) {
      const secret = secrets.get(arn);
      if (!secret) throw new ServiceError(400, "SecretsErrorException", "The secret provided wasn't found.");
      return JSON.parse(secret.texts.get(secret.stages.get(current) ?? "") ?? "");
    },

    answer(name, body) {
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
