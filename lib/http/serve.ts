import middy from "@middy/core";
import type { APIGatewayProxyEvent, Context } from "aws-lambda";
import type { Answer, AnswerName, Declaration } from "../contract/declare.ts";
import type { Permission } from "../contract/permissions.ts";
import { type GuardedQuery, type PublicQuery, run } from "../data-api/query.ts";
import { deadlineOf } from "../retry.ts";
import { entityTagOf } from "./conditions.ts";
import { ContractError } from "./errors.ts";
import { type Input, inputParser } from "./input.ts";
import { log, rememberCaller } from "./log.ts";
import { pipeline, withoutTimeout } from "./pipeline.ts";
import { json, type Response } from "./response.ts";
import { guardOf } from "./session.ts";

type RecordDeclaration = Declaration & { readonly answers: { readonly record: AnswerName } };

type QueryOf<D extends RecordDeclaration> = D extends { readonly permission: Permission }
  ? GuardedQuery<Answer<D["answers"]["record"]>>
  : PublicQuery<Answer<D["answers"]["record"]>>;

/**
 * Makes the Lambda handler of an endpoint that shows one record. The types allow only guarded queries for an endpoint
 * with a permission, and only public queries for any other.
 */
export function serve<const D extends RecordDeclaration>(declaration: D, work: (input: Input<D>) => QueryOf<D>) {
  const parse = inputParser(declaration);
  const handler = async (event: APIGatewayProxyEvent, context: Context): Promise<Response> => {
    const deadline = deadlineOf(context);
    const guard = guardOf(declaration, event);
    const { status, body, caller, version, warning } = await run(work(parse(event)), guard, deadline);
    rememberCaller(event, caller);
    if (warning) log(event, "warn", { message: warning });
    if (status !== 200 || body === null) throw new ContractError(status);
    return { statusCode: 200, headers: { ...json, ...(version ? { ETag: entityTagOf(version) } : {}) }, body };
  };
  return middy<APIGatewayProxyEvent, Response>(handler, withoutTimeout).use(pipeline(declaration));
}
