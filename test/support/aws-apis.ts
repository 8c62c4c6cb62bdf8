import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listenToClients } from "../../infra/aws-local/http/listen.ts";
import { key } from "./environment.ts";

/** A part of AWS on this machine, as an HTTP handler for the real SDK. Returns whether it has responded. */
export type Api = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

type Service = "CLOUDWATCH_LOGS" | "LAMBDA" | "SECRETS_MANAGER";

/** Serves these services by the first of the APIs that responds. The SDK's clients find them until this is closed. */
export async function serveApis(
  services: readonly Service[],
  apis: readonly Api[],
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    for (const result of apis) if (await result(request, response)) return;
    response.writeHead(404).end();
  });
  const { url, close } = await listenToClients(server);
  const endpoints = services.map((each) => `AWS_ENDPOINT_URL_${each}`);
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: key.accessKeyId,
    AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
    ...Object.fromEntries(endpoints.map((name) => [name, url])),
  });
  return {
    url,
    async close() {
      for (const name of endpoints) delete process.env[name];
      await close();
    },
  };
}

/** A response of a service that speaks REST with JSON. */
export interface Reply {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export const refusal = (status: number, type: string): Reply => ({
  status,
  body: { Message: `${type} by the test` },
  headers: { "x-amzn-ErrorType": type },
});

export function send(response: ServerResponse, { status, body, headers }: Reply): void {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(body && JSON.stringify(body));
}
