import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fromEnv } from "@aws-sdk/credential-provider-env";
import { Sha256 } from "@smithy/core/checksum";
import { HttpRequest } from "@smithy/core/protocols";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { SignatureV4 } from "@smithy/signature-v4";
import { serializeError } from "./log.ts";

/** On a stage with an edge: the function that invalidates what has changed (functions/ops/invalidate.ts). */
const name = process.env.INVALIDATE_FUNCTION;
const region = process.env.AWS_REGION ?? "";
const endpoint = new URL(process.env.AWS_ENDPOINT_URL_LAMBDA ?? `https://lambda.${region}.amazonaws.com`);

/** For so long the answer to a change waits for Lambda to accept the event. */
const waitInMilliseconds = 50;
const timeoutInMilliseconds = 2_000;

/* Parts of the SDK that are in every bundle. Its client for Lambda would add 70 kB to each. */
const signer = new SignatureV4({ service: "lambda", region, credentials: fromEnv(), sha256: Sha256 });
const connection = new NodeHttpHandler({
  connectionTimeout: timeoutInMilliseconds,
  requestTimeout: timeoutInMilliseconds,
  throwOnRequestTimeout: true,
});

/** Tells `ops-invalidate` that something has changed. It never fails. */
export type Nudge = (warn: (fields: Readonly<Record<string, unknown>>) => void) => Promise<void>;

/**
 * Opens a connection to Lambda, to have it when the change is made. An event that does not reach Lambda delays the
 * invalidation until the function's schedule.
 */
export function prepareNudge(): Nudge {
  if (!name) return async () => {};
  send(new HttpRequest({ ...partsOf("/"), method: "HEAD" })).catch(() => {});
  return async (warn) => {
    const sent = invoke(name).catch(serializeError);
    // It may still arrive after that, and does no harm.
    const late = sleep(waitInMilliseconds, { message: `No answer within ${waitInMilliseconds} ms` });
    const failure = await Promise.race([sent, late]);
    if (failure) warn({ nudge: failure });
  };
}

async function invoke(name: string): Promise<void> {
  const request = new HttpRequest({
    ...partsOf(`/2015-03-31/functions/${name}/invocations`),
    method: "POST",
    headers: { host: endpoint.host, "content-type": "application/json", "x-amz-invocation-type": "Event" },
    body: "{}",
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
