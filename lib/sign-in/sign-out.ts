import middy from "@middy/core";
import type { APIGatewayProxyEvent, Context } from "aws-lambda";
import { deadlineOf } from "../aws/retry.ts";
import type { Declaration } from "../contract/declare.ts";
import { closeSession } from "../data-api/sign-in.ts";
import { ContractError } from "../http/errors.ts";
import { rememberCaller } from "../http/log.ts";
import { pipeline, withoutTimeout } from "../http/pipeline.ts";
import { envelope, type Response } from "../http/response.ts";
import { digestsIn, isForeign } from "../http/session.ts";
import { forgetSession } from "./cookies.ts";

/** A browser has at most one session for each domain above the API's host. */
const sessionsMax = 5;

/** Makes the Lambda handler that ends the sessions of a request, usually one or none, and deletes the cookies. */
export function serveSignOut(declaration: Declaration & { readonly response: { readonly message: string } }) {
  const handler = async (event: APIGatewayProxyEvent, context: Context): Promise<Response> => {
    if (isForeign(event)) throw new ContractError(403);
    const deadline = deadlineOf(context);
    for (const digest of digestsIn(event).slice(0, sessionsMax)) {
      const { status, caller } = await closeSession({ digest, id: event.requestContext.requestId }, deadline);
      rememberCaller(event, caller);
      if (status !== 200) throw new ContractError(status);
    }
    const forgetting = { "Set-Cookie": forgetSession(event) };
    return { ...envelope(200, declaration.response.message), multiValueHeaders: forgetting };
  };
  return middy<APIGatewayProxyEvent, Response>(handler, withoutTimeout).use(pipeline(declaration));
}
