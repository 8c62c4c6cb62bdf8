import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import * as z from "zod/mini";
import { settings } from "../settings/settings.ts";
import { stageNamed } from "./stage.ts";

/** The secret of an API key of a stage with an edge. */
export const doorSecretName = (stage: string, key: number | "*") => `/colophon/${stage}/edge-key-${key}`;

const door = z.object({ url: z.string(), key: z.string() });

/** The address of a stage's API behind its edge, and the key that it asks for; undefined without an edge. */
export async function doorOf(stage: string): Promise<z.output<typeof door> | undefined> {
  const { edge } = stageNamed(stage);
  if (!edge) return undefined;
  const client = new SecretsManagerClient({ region: settings.account.region });
  const command = new GetSecretValueCommand({ SecretId: doorSecretName(stage, edge.key) });
  const { SecretString = "" } = await client.send(command);
  return door.parse(JSON.parse(SecretString));
}
