import { createHmac, hash, pbkdf2Sync, randomBytes } from "node:crypto";
import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceExistsException,
  SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from "@aws-sdk/client-secrets-manager";
import * as z from "zod/mini";
import { deadlineFromNow, isFault, retry, timeouts } from "../aws/retry.ts";

/** Without the SDK's own attempts: a second UpdateSecretVersionStage would name a version that is no longer current. */
const client = new SecretsManagerClient({ maxAttempts: 1, requestHandler: timeouts });

const read = (SecretId: string | undefined, VersionId?: string) =>
  retry(
    (options) => client.send(new GetSecretValueCommand({ SecretId, VersionId }), options),
    isFault,
    deadlineFromNow(),
  );

/** The fields that the Data API requires in a secret. */
const credentials = z.object({ username: z.string(), password: z.string() });
export type Credentials = z.infer<typeof credentials>;

/** The credentials in a secret: in its current version, or in the version with this id. */
export async function credentialsIn(secretArn: string | undefined, version?: string): Promise<Credentials> {
  const { SecretString = "" } = await read(secretArn, version);
  return z.parse(credentials, JSON.parse(SecretString));
}

export const newPassword = (): string => randomBytes(30).toString("base64url");

/** Stores a pending version. When it is called again, the first one stays. */
export async function storePending(SecretId: string, version: string, credentials: Credentials): Promise<void> {
  const SecretString = JSON.stringify(credentials);
  const VersionStages = ["AWSPENDING"];
  const command = new PutSecretValueCommand({ SecretId, ClientRequestToken: version, SecretString, VersionStages });
  try {
    await retry((options) => client.send(command, options), isFault, deadlineFromNow());
  } catch (error) {
    if (!(error instanceof ResourceExistsException)) throw error;
  }
}

/** Makes this version current: the Data API logs in with it from now on. */
export async function makeCurrent(SecretId: string, version: string): Promise<void> {
  const VersionStage = "AWSCURRENT";
  const { VersionId: current } = await read(SecretId);
  if (current === version) return;
  await client.send(
    new UpdateSecretVersionStageCommand({
      SecretId,
      VersionStage,
      MoveToVersionId: version,
      RemoveFromVersionId: current,
    }),
  );
}

const iterations = 4_096;

/**
 * The verifier by which PostgreSQL checks a password without knowing it: no statement and no log contains the password
 * (RFC 5802, RFC 7677; PostgreSQL, "pg_authid"). Generated passwords are ASCII and need no normalisation.
 */
export function verifierOf(password: string, salt = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  const key = (name: string) => createHmac("sha256", salted).update(name).digest();
  const storedKey = hash("sha256", key("Client Key"), "base64");
  const serverKey = key("Server Key").toString("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${storedKey}:${serverKey}`;
}
