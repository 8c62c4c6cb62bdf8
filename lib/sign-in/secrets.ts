import { type AwsResponse, awsApi } from "../aws.ts";
import { isFault, retry } from "../retry.ts";

const secretsManager = awsApi("secretsmanager", process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER);

/** Secrets by their ARNs, as this environment has read them. */
const known = new Map<string, string>();

/**
 * The text of a secret, read once an environment.
 * @throws {Unavailable} when Secrets Manager does not answer before the deadline
 */
export async function readSecret(arn: string, deadline: number): Promise<string> {
  const text = known.get(arn) ?? (await fetchSecret(arn, deadline));
  known.set(arn, text);
  return text;
}

/** Has a secret read again: it may have been changed. */
export const forgetSecret = (arn: string): unknown => known.delete(arn);

async function fetchSecret(SecretId: string, deadline: number): Promise<string> {
  const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": "secretsmanager.GetSecretValue" };
  const { body } = await retry(
    async () => checked(await secretsManager.post("/", headers, { SecretId })),
    isFault,
    deadline,
  );
  const { SecretString }: { readonly SecretString?: unknown } = JSON.parse(body);
  if (typeof SecretString !== "string" || SecretString === "") throw new Error("The secret is no text");
  return SecretString.trim();
}

/** @throws with the status, by which a fault of the service is told from a refusal */
function checked(response: AwsResponse): AwsResponse {
  const { statusCode: httpStatusCode } = response;
  if (httpStatusCode === 200) return response;
  throw Object.assign(new Error(`Secrets Manager answered ${httpStatusCode}`), { $metadata: { httpStatusCode } });
}
