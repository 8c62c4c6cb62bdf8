import middy from "@middy/core";
import type { APIGatewayProxyEvent, Context } from "aws-lambda";
import type { Declaration } from "../contract/declare.ts";
import { closeSession } from "../data-api/sign-in.ts";
import { ContractError } from "../http/errors.ts";
import { rememberCaller } from "../http/log.ts";
import { pipeline, withoutTimeout } from "../http/pipeline.ts";
import { envelope, type Response } from "../http/response.ts";
import { digestIn, isForeign } from "../http/session.ts";
import { deadlineOf } from "../retry.ts";
import { sessionCookie } from "./cookies.ts";

type SignOutDeclaration = Declaration & { readonly response: { readonly message: string } };

/** Makes the Lambda handler that ends the session of the request, if there is one, and has its cookie forgotten. */
export function serveSignOut(declaration: SignOutDeclaration) {
  const handler = async (event: APIGatewayProxyEvent, context: Context): Promise<Response> => {
    if (isForeign(event)) throw new ContractError(403);
    const digest = digestIn(event);
    if (digest !== undefined) {
      const request = { digest, key: context.awsRequestId, id: event.requestContext.requestId };
      const { status, caller } = await closeSession(request, deadlineOf(context));
      rememberCaller(event, caller);
      if (status !== 200) throw new ContractError(status);
    }
    const forgetting = { "Set-Cookie": [sessionCookie(event, "", 0)] };
    return { ...envelope(200, declaration.response.message), multiValueHeaders: forgetting };
  };
  return middy<APIGatewayProxyEvent, Response>(handler, withoutTimeout).use(pipeline(declaration));
}
