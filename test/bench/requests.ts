import type { Lambda } from "../../infra/aws-local/lambda/lambda.ts";

export interface Call {
  readonly name: string;
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
}

/** A REST proxy event with only the fields that handlers read, as the demo data's administrator sends it. */
const eventOf = ({ name, path, query }: Call) => ({
  httpMethod: "GET",
  path: `/${name}`,
  headers: { Cookie: "refreshToken=local-administrator" },
  pathParameters: path ?? null,
  queryStringParameters: query ?? null,
  body: null,
  isBase64Encoded: false,
  requestContext: { requestId: "00000000-0000-0000-0000-000000000000" },
});

/** Calls a function and checks that it returns 200, because errors would be faster. */
export async function call(lambda: Lambda, request: Call): Promise<string> {
  const invocation = await lambda.invoke(request.name.replaceAll("/", "-"), eventOf(request));
  const result = "result" in invocation ? invocation.result : undefined;
  if (!isResponse(result) || result.statusCode !== 200)
    throw new Error(`${request.name}: ${JSON.stringify(invocation)}`);
  return result.body;
}

const isResponse = (result: unknown): result is { statusCode: number; body: string } =>
  typeof result === "object" && result !== null && "statusCode" in result && "body" in result;
