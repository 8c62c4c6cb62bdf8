import type { IncomingHttpHeaders } from "node:http";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { Compile, parse } from "velocityjs";

type Header = readonly [name: string, value: string];

/**
 * Parameter mappings of a response's headers: `'constant'` or `method.request.header.NAME`. A header that the request
 * does not have is left out.
 * @param where for the error: `GET /x`
 * @throws {Error} when a mapping is of another form
 */
export function parameterMappings(
  where: string,
  prefix: string,
  mappings: Readonly<Record<string, string>>,
): (headers: IncomingHttpHeaders) => Header[] {
  const prepared = Object.entries(mappings).map(([parameter, expression]) => {
    const name = parameter.startsWith(prefix) ? parameter.slice(prefix.length) : undefined;
    const [, constant, header] = /^(?:'(.*)'|method\.request\.header\.([\w-]+))$/.exec(expression) ?? [];
    if (!name || (constant ?? header) === undefined)
      throw new Error(`${where}: cannot map ${parameter} = ${expression}`);
    return { name, constant, header: header?.toLowerCase() };
  });
  return (headers) =>
    prepared.flatMap(({ name, constant, header = "" }): Header[] => {
      const value = constant ?? headers[header];
      return value === undefined ? [] : [[name, String(value)]];
    });
}

/** What API Gateway's templates know beside `$context` and `$input.params`; a template would show their names. */
const unknownVariables =
  /\$!?\{?(?:util|stageVariables|input\.(?!params\b)|context\.responseOverride\.(?!header\b))\w*/;

export interface Rendered {
  readonly text: string;
  /** The headers of `$context.responseOverride`. */
  readonly headers: Header[];
}

/**
 * A mapping template (API Gateway, "Mapping template and access logging variable reference"), parsed once.
 * @param where for the error: `GET /x`
 * @throws {Error} when it is not Velocity, or uses a variable that is not there
 */
export function mappingTemplate(where: string, text: string): (event: APIGatewayProxyEvent) => Rendered {
  const [unknown] = unknownVariables.exec(text) ?? [];
  if (unknown) throw new Error(`${where}: templates have no ${unknown}`);
  const tree = parseTemplate(where, text);
  return ({ pathParameters, queryStringParameters, headers, requestContext }) => {
    const overridden: Record<string, string> = {};
    const parameters = { path: pathParameters ?? {}, querystring: queryStringParameters ?? {}, header: headers };
    const rendered = new Compile(tree).render({
      input: { params: () => parameters },
      context: { ...requestContext, responseOverride: { header: overridden } },
    });
    return { text: rendered, headers: Object.entries(overridden) };
  };
}

function parseTemplate(where: string, text: string): ReturnType<typeof parse> {
  try {
    return parse(text);
  } catch (error) {
    const [reason] = String(error).split("\n");
    throw new Error(`${where}: no Velocity template: ${reason}`, { cause: error });
  }
}
