import { Readable } from "node:stream";
import type { Lambda } from "../lambda/lambda.ts";

export type Operation = Readonly<Record<string, unknown>>;

/** An operation that a function serves. */
export const served = (name: string, more: Operation = {}): Operation => ({
  responses: {},
  "x-amazon-apigateway-integration": {
    type: "aws_proxy",
    httpMethod: "POST",
    uri: `arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:${name}/invocations`,
    ...more,
  },
});

export const streamed = (name: string) => served(name, { responseTransferMode: "STREAM" });

/** A document with these operations by route, `GET /things/{id}`, and these extensions of API Gateway. */
export function restApi(routes: Readonly<Record<string, Operation>>, extensions: Operation = {}) {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const [route, operation] of Object.entries(routes)) {
    const [method = "", path = ""] = route.split(" ");
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  }
  const named = Object.entries(extensions).map(([name, value]) => [`x-amazon-apigateway-${name}`, value]);
  return { openapi: "3.0.3", info: { title: "test", version: "1" }, paths, ...Object.fromEntries(named) };
}

/** Gives the result of an invocation, or a `Readable` with a stream's head. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into events, and give results of every shape
type Handler = (event: any) => any;

/** A Lambda whose functions are these handlers; one that throws is a function that fails. */
export function lambdaOf(handlers: Readonly<Record<string, Handler>>): Pick<Lambda, "names" | "invoke" | "stream"> {
  const run = async (name: string, event: unknown) => {
    const text = JSON.stringify(event);
    return await handlers[name]?.(JSON.parse(text));
  };
  return {
    names: new Set(Object.keys(handlers)),
    invoke: async (name, event) => {
      const result = await run(name, event);
      return result?.errorType ? { error: result } : { result };
    },
    stream: async (name, event) => {
      const { errorType, head = { statusCode: 200 }, body = [], errorMessage = "" } = await run(name, event);
      return errorType
        ? { error: { errorType, errorMessage } }
        : { head, body: body instanceof Readable ? body : Readable.from(body) };
    },
  };
}

/** Returns the event it was given. */
export const echo: Handler = (event) => ({ statusCode: 200, body: JSON.stringify(event) });

/** Returns whatever result the request's body holds. */
export const obey: Handler = ({ body }) => JSON.parse(body);
