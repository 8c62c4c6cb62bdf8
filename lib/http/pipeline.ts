import cors from "@middy/http-cors";
import type { Declaration } from "../contract/declare.ts";
import { commonErrors } from "../contract/errors.ts";
import { exposedHeaders } from "../contract/headers.ts";
import { Unavailable } from "../retry.ts";
import { ContractError, messageOf } from "./errors.ts";
import { describe } from "./headers.ts";
import { described, log, logRequests } from "./log.ts";
import { allowedOrigins } from "./origins.ts";
import { envelope, type Middleware } from "./response.ts";

/** Calls have deadlines of their own, so no timer has to watch over a handler. */
export const untimed = { timeoutEarlyInMillis: 0 } as const;

/** What every endpoint's handler goes through. The last one is the first to see an error, and turns it into an answer. */
export function pipeline(declaration: Declaration): Middleware[] {
  return [
    logRequests(declaration),
    describe(declaration),
    cors({
      ...(declaration.permission ? { origins: [...allowedOrigins], credentials: true } : { origin: "*" }),
      exposeHeaders: exposedHeaders,
    }),
    answerErrors(declaration),
  ];
}

function answerErrors(declaration: Declaration): Middleware {
  return {
    onError: (request) => {
      const error = contractErrorOf(request.error);
      const { status, headers } = error;
      const message = error.message || messageOf(declaration, status);
      if (status >= 500) {
        log(request.event, "error", { status, answer: message, error: described(request.error) });
      }
      request.response = envelope(status, message, headers);
    },
  };
}

const secondsUntilResumed = "5";

/** Errors of the contract stay what they are, everything else is a 500. */
function contractErrorOf(error: unknown): ContractError {
  if (error instanceof ContractError) return error;
  if (error instanceof Unavailable)
    return new ContractError(503, commonErrors[503], { "Retry-After": secondsUntilResumed });
  return new ContractError(500);
}
