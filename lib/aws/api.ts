import { text } from "node:stream/consumers";
import { fromEnv } from "@aws-sdk/credential-provider-env";
import { HttpRequest } from "@smithy/core/protocols";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { SignatureV4 } from "@smithy/signature-v4";
import { Sha256 } from "./sha256.ts";

/* APIs of AWS by parts of the SDK that are in every bundle. A client of the SDK would add 70 kB to each. */

const region = process.env.AWS_REGION ?? "";
const timeoutInMilliseconds = 2_000;
const connection = new NodeHttpHandler({
  connectionTimeout: timeoutInMilliseconds,
  requestTimeout: timeoutInMilliseconds,
  throwOnRequestTimeout: true,
});

/** @param service its name in signatures and addresses: `lambda` */
export function awsApi(service: string, address = `https://${service}.${region}.amazonaws.com`) {
  const { protocol, hostname, port, host } = new URL(address);
  const signer = new SignatureV4({ service, region, credentials: fromEnv(), sha256: Sha256 });
  const endpoint = { protocol, hostname, ...(port ? { port: Number(port) } : {}) };
  return {
    /** Opens a connection, to have it when something is to be sent. It never fails. */
    connect() {
      send(new HttpRequest({ ...endpoint, path: "/", method: "HEAD" })).catch(() => {});
    },
    /** Returns the body. An error has the status of the response, as one of the SDK has (isFault). */
    async post(path: string, headers: Readonly<Record<string, string>>, content: object): Promise<string> {
      const body = JSON.stringify(content);
      const request = new HttpRequest({ ...endpoint, path, method: "POST", headers: { host, ...headers }, body });
      const { httpStatusCode, text } = await send(new HttpRequest(await signer.sign(request)));
      if (httpStatusCode < 300) return text;
      throw Object.assign(new Error(`${service} returned ${httpStatusCode}: ${text}`), {
        $metadata: { httpStatusCode },
      });
    },
  };
}

async function send(request: HttpRequest) {
  const { response } = await connection.handle(request);
  // To its end, so that the connection can be used again.
  return { httpStatusCode: response.statusCode, text: await text(response.body) };
}
