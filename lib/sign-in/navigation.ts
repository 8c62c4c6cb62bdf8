import middy from "@middy/core";
import type { APIGatewayProxyEvent, Context } from "aws-lambda";
import type { Declaration } from "../contract/declare.ts";
import { normalPathOf } from "../contract/panel-path.ts";
import { ContractError } from "../http/errors.ts";
import { uncacheable } from "../http/headers.ts";
import { type Input, inputParser } from "../http/input.ts";
import { log, logRequests, serializeError } from "../http/log.ts";
import { withoutTimeout } from "../http/pipeline.ts";
import type { Middleware, Response } from "../http/response.ts";
import { deadlineOf, Unavailable } from "../retry.ts";
import { beginningOf } from "./addresses.ts";
import type { Attempt } from "./attempt.ts";
import { forgetAttempt } from "./attempt-cookies.ts";
import { SignInFailure } from "./failure.ts";
import { errorPage, pagePolicy } from "./page.ts";

type NavigationDeclaration = Declaration & { readonly response: { readonly redirect: string } };

export interface NavigationContext {
  readonly event: APIGatewayProxyEvent;
  /** The deadline of all calls of the request. */
  readonly deadline: number;
}

/** Where the browser is sent, and the cookies that it gets. */
export interface Redirection {
  readonly location: string;
  readonly cookies: readonly string[];
}

/** Makes the Lambda handler of an endpoint that sends a browser on. Its errors are pages. */
export function serveNavigation<const D extends NavigationDeclaration>(
  declaration: D,
  handle: (input: Input<D> & NavigationContext) => Promise<Redirection>,
) {
  const parse = inputParser(declaration);
  const handler = async (event: APIGatewayProxyEvent, context: Context): Promise<Response> => {
    const deadline = deadlineOf(context);
    const { location, cookies } = await handle({ ...parse(event), event, deadline });
    return {
      statusCode: 302,
      headers: { Location: location },
      multiValueHeaders: { "Set-Cookie": [...cookies] },
      body: "",
    };
  };
  return middy<APIGatewayProxyEvent, Response>(handler, withoutTimeout).use([
    logRequests(declaration),
    pageHeaders,
    answerByPage,
  ]);
}

/** No page of another origin may read an answer, no cache keeps it, and no other site learns its address. */
const pageHeaders: Middleware = {
  after: ({ response }) => void Object.assign(response?.headers ?? {}, uncacheable),
  onError: ({ response }) =>
    void Object.assign(response?.headers ?? {}, uncacheable, { "Content-Security-Policy": pagePolicy }),
};

/** The attempts that requests have come back with. */
const attempts = new WeakMap<APIGatewayProxyEvent, Attempt>();

/** If the request fails, its attempt has ended, and whoever begins again comes back to the same page of the panel. */
export const rememberAttempt = (event: APIGatewayProxyEvent, attempt: Attempt): unknown => attempts.set(event, attempt);

const retryAfterSeconds = "10";

const answerByPage: Middleware = {
  onError: (request) => {
    const { event } = request;
    const told = toldOf(request.error);
    const attempt = attempts.get(event);
    const to = attempt?.to ?? normalPathOf(event.queryStringParameters?.to ?? "") ?? "";
    const { status, html } = errorPage(told, beginningOf(event, to));
    logFailure(event, request.error, status);
    request.response = {
      statusCode: status,
      headers: {
        "Content-Type": "text/html; charset=utf-8",
        ...(status === 503 ? { "Retry-After": retryAfterSeconds } : {}),
      },
      // After a fault the same page may be asked for again.
      ...(attempt && status < 500 ? { multiValueHeaders: { "Set-Cookie": [forgetAttempt(event, attempt)] } } : {}),
      body: html,
    };
  },
};

function toldOf(error: unknown): Parameters<typeof errorPage>[0] {
  if (error instanceof SignInFailure) return error.told;
  if (error instanceof Unavailable) return "unavailable";
  return error instanceof ContractError ? "parameter" : "broken";
}

/** Alarms count the field `signIn`. */
function logFailure(event: APIGatewayProxyEvent, error: unknown, status: number): void {
  if (error instanceof SignInFailure) {
    const { ending, message } = error;
    log(event, ending === "unavailable" ? "error" : "warn", { status, signIn: ending, reason: message });
  } else if (status >= 500) {
    log(event, "error", { status, signIn: "unavailable", error: serializeError(error) });
  }
}
