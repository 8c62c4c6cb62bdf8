import middy from "@middy/core";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { deadlineOf } from "../aws/retry.ts";
import type { Declaration } from "../contract/declare.ts";
import { uncacheable } from "../http/headers.ts";
import { type Input, inputParser } from "../http/input.ts";
import { log, logRequests, serializeError } from "../http/log.ts";
import { withoutTimeout } from "../http/pipeline.ts";
import { ContractError, type Middleware, type Response } from "../http/response.ts";
import { beginningOf, panelOrigin } from "./addresses.ts";
import type { Attempt } from "./attempt.ts";
import { forgetAttempt } from "./cookies.ts";
import { errorPage, type Outcome, pagePolicy, SignInFailure } from "./failure.ts";
import { pathOnPanel } from "./panel-path.ts";

/**
 * Makes the Lambda handler of an endpoint that redirects a browser. Its errors are pages. No cache stores a response, no
 * page of another origin reads it, and no other site gets its URL.
 */
export function serveNavigation<const D extends Declaration & { readonly response: { readonly redirect: string } }>(
  declaration: D,
  handle: (
    input: Input<D> & { readonly event: APIGatewayProxyEvent; readonly deadline: number },
  ) => Promise<{ readonly location: string; readonly cookies: string[] }>,
) {
  const parse = inputParser(declaration);
  const pipeline = middy<APIGatewayProxyEvent, Response>(withoutTimeout);
  return pipeline.use([logRequests(declaration), respondByPage]).handler(async (event, context) => {
    const deadline = deadlineOf(context);
    const { location, cookies } = await handle({ ...parse(event), event, deadline });
    return {
      statusCode: 302,
      headers: { ...uncacheable, Location: location },
      multiValueHeaders: { "Set-Cookie": cookies },
      body: "",
    };
  });
}

/** The attempts of requests to the callback. */
const attempts = new WeakMap<APIGatewayProxyEvent, Attempt>();

/** If the request fails, its attempt ends, and the page links to a new attempt for the same page of the panel. */
export const rememberAttempt = (event: APIGatewayProxyEvent, attempt: Attempt): unknown => attempts.set(event, attempt);

const retryAfterSeconds = "10";

const respondByPage: Middleware = {
  onError: (request) => {
    const { event, error } = request;
    const attempt = attempts.get(event);
    const to = attempt?.to ?? pathOnPanel(event.queryStringParameters?.to ?? "", panelOrigin()) ?? "";
    const outcome = outcomeOf(error);
    const { status, html } = errorPage(outcome, beginningOf(event, to), panelOrigin());
    // Alarms count the field `signIn`. A `to` that leads elsewhere is no attempt.
    const reason = error instanceof SignInFailure ? { reason: error.message } : { error: serializeError(error) };
    if (!(error instanceof ContractError))
      log(event, status === 503 ? "error" : "warn", { status, signIn: outcome, ...reason });
    request.response = {
      statusCode: status,
      headers: {
        ...uncacheable,
        ...(error instanceof ContractError ? error.headers : {}),
        "Content-Security-Policy": pagePolicy,
        "Content-Type": "text/html; charset=utf-8",
        ...(status === 503 ? { "Retry-After": retryAfterSeconds } : {}),
      },
      // After a failure the browser may reload the page.
      ...(attempt && status < 500 ? { multiValueHeaders: { "Set-Cookie": [forgetAttempt(event, attempt)] } } : {}),
      body: html,
    };
  },
};

function outcomeOf(error: unknown): Outcome {
  if (error instanceof SignInFailure) return error.outcome;
  return error instanceof ContractError ? "elsewhere" : "unavailable";
}
