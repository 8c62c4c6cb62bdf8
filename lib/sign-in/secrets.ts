import { awsApi } from "../aws/api.ts";
import { isFault, retry } from "../aws/retry.ts";

const secretsManager = awsApi("secretsmanager", process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER);

/** Operators may change a secret, and a busy environment lives for hours. */
const keptMilliseconds = 5 * 60_000;

/** The secrets that this environment has read, by ARN. */
const known = new Map<string, { readonly text: string; readonly until: number }>();

/**
 * The text of a secret, read every five minutes at most.
 * @throws {Unavailable} if Secrets Manager does not respond before the deadline
 */
export async function readSecret(SecretId: string, deadline: number): Promise<string> {
  const read = known.get(SecretId);
  if (read && Date.now() < read.until) return read.text;
  const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": "secretsmanager.GetSecretValue" };
  const request = () => secretsManager.post("/", headers, { SecretId });
  const { SecretString }: { readonly SecretString?: unknown } = JSON.parse(await retry(request, isFault, deadline));
  if (typeof SecretString !== "string" || SecretString === "") throw new Error("The secret is no text");
  const text = SecretString.trim();
  known.set(SecretId, { text, until: Date.now() + keptMilliseconds });
  return text;
}

/** The next call reads the secret again. */
export const forgetSecret = (arn: string): unknown => known.delete(arn);
