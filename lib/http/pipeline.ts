import middy from "@middy/core";
import cors from "@middy/http-cors";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { publicTimeouts, type RequestTimeouts, Unavailable, usualTimeouts } from "../aws/retry.ts";
import { type Declaration, isPublic } from "../contract/declare.ts";
import { commonErrors, messageOf, nothingChanged } from "../contract/errors.ts";
import { exposedHeaders, isRepeatable } from "../contract/headers.ts";
import { headerOf, responseHeaders } from "./headers.ts";
import { log, logRequests, serializeError } from "./log.ts";
import { allowedOrigins, isAmong } from "./origins.ts";
import { confirmPreference } from "./preference.ts";
import { ContractError, envelope, type Hook, type Middleware, type Response } from "./response.ts";

/** Switches off middy's timer: calls have deadlines. */
export const withoutTimeout = { timeoutEarlyInMillis: 0 } as const;

/** How long the calls of a read may take: what visitors read ends before the edge gives up. */
export const timeoutsOf = (declaration: Declaration): RequestTimeouts =>
  isPublic(declaration) ? publicTimeouts : usualTimeouts;

/** The middleware of every endpoint. The last one sees an error first, and turns it into a response. */
export const pipeline = (declaration: Declaration, options: middy.PluginObject = {}) =>
  middy<APIGatewayProxyEvent, Response>({ ...withoutTimeout, ...options }).use([
    logRequests(declaration),
    responseHeaders(declaration),
    confirmPreference,
    isPublic(declaration) ? forAllPages : forPanels,
    respondToErrors(declaration),
  ]);

/** The middleware's own comparison would take every `*` for a part of a name. */
const getOrigin = (origin?: string) => (origin !== undefined && isAmong(allowedOrigins, origin) ? origin : null);

const forPanels: Middleware = cors({
  origins: [...allowedOrigins],
  getOrigin,
  credentials: true,
  exposeHeaders: exposedHeaders,
});
const forOthers: Middleware = cors({ origin: "*", exposeHeaders: exposedHeaders });

/** A panel may send its cookie to public endpoints, too. Then browsers accept the name of its origin, and no `*`. */
const setPublicHeaders: Hook = (request) => {
  const isPanel = getOrigin(headerOf(request.event, "origin")) !== null;
  return (isPanel ? forPanels : forOthers).after?.(request);
};
const forAllPages: Middleware = { after: setPublicHeaders, onError: setPublicHeaders };

function respondToErrors(declaration: Declaration): Middleware {
  return {
    onError: (request) => {
      const { status, message, headers } = responseTo(request.error, declaration);
      if (status >= 500) {
        log(request.event, "error", { status, response: message, error: serializeError(request.error) });
      }
      request.response = envelope(status, message, headers);
    },
  };
}

const retryAfterSeconds = "5";

/** What a request without a session lacks; the scheme is that of an expired draft (draft-broyer-http-cookie-auth). */
const challenge = 'Cookie realm="colophon", cookie-name="refreshToken"';

/** Errors of the contract stay, an unavailable service is a 503, and everything else is a 500. */
function responseTo(error: unknown, declaration: Declaration) {
  if (error instanceof Unavailable) {
    const message = isRepeatable(declaration) && !error.mayBeDone ? nothingChanged : commonErrors[503];
    return { status: 503, message, headers: { "Retry-After": retryAfterSeconds } };
  }
  const { status, message, headers } = error instanceof ContractError ? error : new ContractError(500);
  return {
    status,
    message: message || messageOf(declaration, status),
    headers: status === 401 ? { ...headers, "WWW-Authenticate": challenge } : headers,
  };
}
