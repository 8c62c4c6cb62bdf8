import middy from "@middy/core";
import type { APIGatewayProxyEvent } from "aws-lambda";
import type { Answer, AnswerName, Declaration } from "../contract/declare.ts";
import { invalidParameter } from "../contract/errors.ts";
import type { Permission } from "../contract/permissions.ts";
import { type GuardedQuery, type PublicQuery, run } from "../database/query.ts";
import { ContractError } from "./errors.ts";
import { type Input, reader } from "./input.ts";
import { pipeline } from "./pipeline.ts";
import { envelope, json, type Response } from "./response.ts";
import { guardOf } from "./session.ts";

type BodyOf<D extends Declaration> = D["answers"] extends { readonly record: infer Name extends AnswerName }
  ? Answer<Name>
  : null;

type QueryOf<D extends Declaration, Body> = D extends { readonly permission: Permission }
  ? GuardedQuery<Body>
  : PublicQuery<Body>;

/** The JSON text of an answer, ready to be sent. */
export interface Json<Body> {
  readonly text: string | null;
  /** Only for the compiler: what the text holds. */
  readonly body?: Body;
}

interface Tools<D extends Declaration> {
  /**
   * Runs a query as one statement. What its status says beyond 200 becomes the contract's error; endpoints with a
   * permission can run nothing but guarded queries, and public ones none of these.
   */
  readonly run: <Body>(query: QueryOf<D, Body>) => Promise<Json<Body>>;
}

/** The few lines of an endpoint: from its input to its answer. */
export type Work<D extends Declaration> = (input: Input<D> & Tools<D>) => Promise<Json<BodyOf<D>>>;

/** Makes the Lambda handler of an endpoint that gives one answer. */
export function serve<const D extends Declaration>(declaration: D, work: Work<D>) {
  const read = reader(declaration);
  const handler = async (event: APIGatewayProxyEvent): Promise<Response> => {
    const guard = guardOf(declaration, event);
    const input = read(event);
    const { text } = await work({
      ...input,
      run: async (query) => {
        const outcome = await run(query, guard, declaration.method === "GET");
        if (outcome?.status === 200) return { text: outcome.body };
        throw refused(outcome?.status ?? 404, outcome?.body);
      },
    });
    return answer(declaration, text);
  };
  return middy<APIGatewayProxyEvent, Response>(handler).use(pipeline(declaration));
}

/** A query that refuses with 400 names the parameter to blame as its body, a JSON string. */
function refused(status: number, parameter: string | null | undefined): ContractError {
  return new ContractError(status, parameter ? invalidParameter(JSON.parse(parameter)) : "");
}

function answer({ answers }: Declaration, text: string | null): Response {
  return "message" in answers
    ? envelope(200, answers.message)
    : { statusCode: 200, headers: { ...json }, body: text ?? "null" };
}
