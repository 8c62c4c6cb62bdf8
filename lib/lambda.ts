import { text } from "node:stream/consumers";
import { fromEnv } from "@aws-sdk/credential-provider-env";
import { Sha256 } from "@smithy/core/checksum";
import { HttpRequest } from "@smithy/core/protocols";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { SignatureV4 } from "@smithy/signature-v4";

/* Lambda by parts of the SDK that are in every bundle. Its client for Lambda would add 70 kB to each. */

const region = process.env.AWS_REGION ?? "";
const endpoint = new URL(process.env.AWS_ENDPOINT_URL_LAMBDA ?? `https://lambda.${region}.amazonaws.com`);

const timeoutInMilliseconds = 2_000;
const signer = new SignatureV4({ service: "lambda", region, credentials: fromEnv(), sha256: Sha256 });
const connection = new NodeHttpHandler({
  connectionTimeout: timeoutInMilliseconds,
  requestTimeout: timeoutInMilliseconds,
  throwOnRequestTimeout: true,
});

/** Opens a connection to Lambda, to have it when a function is to be invoked. It never fails. */
export function connectToLambda(): void {
  send(new HttpRequest({ ...partsOf("/"), method: "HEAD" })).catch(() => {});
}

/** Hands an event to a function. Lambda invokes it later, and keeps its result to itself. */
export async function invokeLater(name: string, event: object): Promise<void> {
  const request = new HttpRequest({
    ...partsOf(`/2015-03-31/functions/${name}/invocations`),
    method: "POST",
    headers: { host: endpoint.host, "content-type": "application/json", "x-amz-invocation-type": "Event" },
    body: JSON.stringify(event),
  });
  const { statusCode, body } = await send(new HttpRequest(await signer.sign(request)));
  if (statusCode !== 202) throw new Error(`Lambda answered ${statusCode}: ${body}`);
}

const partsOf = (path: string) => ({
  protocol: endpoint.protocol,
  hostname: endpoint.hostname,
  ...(endpoint.port ? { port: Number(endpoint.port) } : {}),
  path,
});

async function send(request: HttpRequest) {
  const { response } = await connection.handle(request);
  // To its end, so that the connection can be used again.
  return { statusCode: response.statusCode, body: await text(response.body) };
}
