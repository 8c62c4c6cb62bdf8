import fc from "fast-check";
import { arbitraryOf } from "./arbitrary-values.ts";
import { document, type Operation, type Parameter } from "./operations.ts";

/** A content type and what is sent as JSON; null for no body. */
type Body = readonly [type: string, value: unknown] | null;

/** The parameters and the body of a request. */
export interface Values {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Body;
}

/** Requests that are valid by the OpenAPI document. */
export function requestsTo({ parameters, requestBody }: Operation): fc.Arbitrary<Values> {
  const valuesIn = (name: Parameter["in"]) => valuesOf(parameters.filter((each) => each.in === name));
  const bodies = Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) =>
    fc.tuple(fc.constant(type), arbitraryOf(schema, document)),
  );
  return fc.record({
    path: valuesIn("path").filter(fitsInPath),
    query: valuesIn("query"),
    body: bodies.length > 0 ? fc.oneof(...bodies) : fc.constant(null),
  });
}

function valuesOf(parameters: readonly Parameter[]): fc.Arbitrary<Readonly<Record<string, string>>> {
  const values = parameters.map((each) => {
    const anything = arbitraryOf(each.schema, document).map(String);
    return [each.name, fc.oneof(...likely(each), anything)] as const;
  });
  const required = parameters.filter((each) => each.required).map(({ name }) => name);
  return fc.record(Object.fromEntries(values), { requiredKeys: required });
}

/** Values that random generation would produce too seldom. */
const likely = ({ name, allowEmptyValue }: Parameter): fc.Arbitrary<string>[] => [
  ...(name === "id" ? [fc.integer({ min: 1, max: 8 }).map(String)] : []),
  ...(allowEmptyValue ? [fc.constant("")] : []),
];

/** Dot segments are resolved in a URL before the request is sent, so they would change the path. */
const fitsInPath = (values: Readonly<Record<string, string>>) =>
  Object.values(values).every((value) => !/^\.{1,2}$/.test(value));

/** Sends a request over HTTP, as a client would. */
export async function send(url: string, { path, method }: Operation, values: Values, token?: string) {
  const [type, body] = values.body ?? [];
  const target = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values.path[name] ?? ""));
  const response = await fetch(`${url}${target}?${new URLSearchParams(values.query)}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { Cookie: `refreshToken=${token}` }),
      ...(type === undefined ? {} : { "Content-Type": type }),
    },
    ...(type === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}
