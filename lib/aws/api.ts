import { text } from "node:stream/consumers";
import { fromEnv } from "@aws-sdk/credential-provider-env";
import { Sha256 } from "@smithy/core/checksum";
import { HttpRequest, type HttpResponse } from "@smithy/core/protocols";
import { NodeHttpHandler, type NodeHttpHandlerOptions } from "@smithy/node-http-handler";
import { SignatureV4 } from "@smithy/signature-v4";
import { type AttemptOptions, isClockError } from "./retry.ts";

/*
 * APIs of AWS by the parts of the SDK that sign and send. The middleware of an SDK client would take twice the CPU time of
 * these for each call, and its model would add 70 to 140 kB to each bundle.
 */

const region = process.env.AWS_REGION ?? "";

const shortTimeouts: NodeHttpHandlerOptions = {
  connectionTimeout: 2_000,
  requestTimeout: 2_000,
  throwOnRequestTimeout: true,
};

export interface AwsApi {
  /** Opens a connection, to have it when something is to be sent. It never fails. */
  connect(): void;
  /**
   * Sends a request once, and returns the JSON of the response, `{}` if it is empty.
   * @throws an error of the service as an SDK client does: by name and message, with the status in `$metadata`
   */
  post(
    path: string,
    headers: Readonly<Record<string, string>>,
    body: object,
    options?: AttemptOptions,
  ): Promise<object>;
}

/** By how much the clock of AWS is ahead of this machine's, in milliseconds, if a signature had the wrong time. */
let clockDifference = 0;

/** @param service its name in signatures and addresses: `lambda` */
export function awsApi(
  service: string,
  address = `https://${service}.${region}.amazonaws.com`,
  timeouts = shortTimeouts,
): AwsApi {
  const { protocol, hostname, port, host } = new URL(address);
  const connection = new NodeHttpHandler(timeouts);
  const signer = new SignatureV4({ service, region, credentials: fromEnv(), sha256: Sha256 });
  const endpoint = { protocol, hostname, ...(port ? { port: Number(port) } : {}) };
  const send = async (request: HttpRequest, options?: AttemptOptions): Promise<object> => {
    const { response } = await connection.handle(request, options);
    return contentOf(response, await text(response.body));
  };
  return {
    connect() {
      send(new HttpRequest({ ...endpoint, path: "/", method: "HEAD" })).catch(() => {});
    },
    async post(path, headers, body, options) {
      const request = new HttpRequest({
        ...endpoint,
        path,
        method: "POST",
        headers: { host, ...headers },
        body: JSON.stringify(body),
      });
      const signingDate = new Date(Date.now() + clockDifference);
      return await send(new HttpRequest(await signer.sign(request, { signingDate })), options);
    },
  };
}

function contentOf({ statusCode, headers }: HttpResponse, body: string): object {
  const $metadata = { httpStatusCode: statusCode };
  let content: { readonly [field: string]: unknown };
  try {
    content = JSON.parse(body || "{}");
  } catch (error) {
    throw Object.assign(new Error("The response is no JSON", { cause: error }), { $metadata });
  }
  if (statusCode < 300) return content;
  const { __type: type, code, message, Message } = content;
  const [name] = /\w+(?=:|$)/.exec(`${headers["x-amzn-errortype"] ?? type ?? code ?? "AwsError"}`) ?? [];
  const error = Object.assign(new Error(`${message ?? Message ?? `HTTP status ${statusCode}`}`), { name, $metadata });
  if (isClockError(error)) clockDifference = Date.parse(headers.date ?? "") - Date.now() || 0;
  throw error;
}
