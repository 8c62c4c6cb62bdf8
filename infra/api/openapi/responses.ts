import {
  type Declaration,
  isCacheable,
  isNavigation,
  needsCaller,
  queryOf,
  type ResponseKind,
} from "../../../lib/contract/declare.ts";
import { commonErrors, forbiddenByRule, invalidParameter, nothingChanged } from "../../../lib/contract/errors.ts";
import { headersOf, isRepeatable, isVersioned } from "../../../lib/contract/headers.ts";
import { type GatewayResponse, gatewayResponses } from "../gateway-responses.ts";
import { readExamples } from "./examples.ts";
import { type JsonSchema, listName, reference } from "./schemas.ts";

interface Content {
  readonly schema: JsonSchema;
  readonly example: unknown;
}

/** An error: a status and its message. */
export type Failure = readonly [status: number, message: string];

const { REQUEST_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, THROTTLED, INTEGRATION_TIMEOUT } = gatewayResponses;
const failureOf = ({ status, message }: GatewayResponse): Failure => [status, message];

/** API Gateway's own errors, by component name: any request may have too large a body, or an unknown encoding. */
const ofGateway: Readonly<Record<string, Failure>> = {
  RequestTooLong: failureOf(REQUEST_TOO_LARGE),
  UnsupportedMediaType: failureOf(UNSUPPORTED_MEDIA_TYPE),
  TooManyRequests: failureOf(THROTTLED),
  TimedOut: failureOf(INTEGRATION_TIMEOUT),
};
export const gatewayFailures: readonly Failure[] = Object.values(ofGateway);

/** What servers may say of an `Expect` header, before API Gateway sees the request. No browser sends one. */
const expectationFailed: Failure = [417, "Expectation failed"];

/** Errors that many endpoints have in common, by component name: the status and its messages. */
const commonFailures: Readonly<Record<string, readonly [status: number, ...messages: string[]]>> = {
  BadRequest: [400, commonErrors[400]],
  Unauthorized: [401, commonErrors[401]],
  Forbidden: [403, commonErrors[403]],
  PreconditionFailed: [412, commonErrors[412]],
  ExpectationFailed: expectationFailed,
  InternalServerError: [500, commonErrors[500]],
  Unavailable: [503, commonErrors[503]],
  ChangeUnavailable: [503, commonErrors[503], nothingChanged],
  ...ofGateway,
};

/** The components that the operations refer to. */
export const commonResponses = () =>
  Object.fromEntries(
    Object.entries(commonFailures).map(([name, [status, ...messages]]) => [name, failure(status, messages)]),
  );

/** All responses of an endpoint by status: its result, its own errors, and those of API Gateway. */
export function responsesOf(declaration: Declaration): Readonly<Record<string, unknown>> {
  const { response, forbids } = declaration;
  if ("redirect" in response) return navigationResponses(declaration, response.redirect);
  return {
    200: success(declaration, content(response)),
    ...(isRevalidated(declaration) ? { 304: { description: "Not modified since the `ETag` in `If-None-Match`" } } : {}),
    ...failures(failuresOf(declaration)),
    ...(forbids ? { 403: forbidden(declaration) } : {}),
  };
}

/** The responses to a browser that is sent on: errors of the function are pages, those of API Gateway the envelope. */
function navigationResponses({ errors }: Declaration, target: string) {
  const page = { "text/html": { schema: { type: "string" } } };
  const pages = Object.entries(pageMeanings)
    .filter(([status]) => status !== "403" || errors[403])
    .map(([status, meaning]) => [status, { description: `A page: ${meaning}`, content: page }]);
  const refused = failure(503, [errors[503] ?? ""]);
  return {
    302: {
      description: `${target}. Beside \`Location\` there is \`Set-Cookie\`.`,
      headers: { "Cache-Control": header("CacheControl") },
    },
    ...Object.fromEntries(pages),
    503: {
      description: `${errors[503]} Or a page: the provider or this service is unavailable.`,
      headers: { "Retry-After": header("RetryAfter") },
      content: { ...refused.content, ...page },
    },
    ...failures(gatewayFailures),
  };
}

const pageMeanings = {
  400: "signing in failed, and can be started again",
  403: "the provider refused, or the account is not known here",
  500: "something unexpected failed",
};

/** The response of an endpoint that not every caller with its permission may call. */
const forbidden = ({ permission, forbids = {} }: Declaration) => ({
  ...failure(403, [commonErrors[403], ...ruleMessages(forbids)]),
  description: [
    `\`${commonErrors[403]}\`: the caller lacks the permission \`${permission}\`, or a page of another origin sent the ` +
      'request. With a reason behind it: one of the rules about the fifteen permissions forbids it (see "Who may do what"):',
    "",
    ...Object.entries(forbids).map(([rule, text]) => `- Rule ${rule}: ${text}.`),
  ].join("\n"),
});

/** The messages of the rules that an endpoint has. */
const ruleMessages = (forbids: Declaration["forbids"] = {}): string[] =>
  Object.entries(forbiddenByRule).flatMap(([rule, message]) => (rule in forbids ? [message] : []));

function failures(messages: readonly Failure[]) {
  const byStatus = Map.groupBy([...messages, expectationFailed], ([status]) => status);
  return Object.fromEntries(
    [...byStatus].map(([status, all]) => {
      const texts = all.map(([, message]) => message);
      return [status, common(status, texts) ?? failure(status, texts)];
    }),
  );
}

function common(status: number, messages: readonly string[]) {
  const texts = JSON.stringify([status, ...messages]);
  const found = Object.entries(commonFailures).find(([, failure]) => JSON.stringify(failure) === texts);
  return found && { $ref: `#/components/responses/${found[0]}` };
}

/** Whether clients may cache and revalidate the response. */
const isRevalidated = (declaration: Declaration) => isCacheable(declaration);

function success(declaration: Declaration, content: Content) {
  return {
    description: "message" in declaration.response ? declaration.response.message : "The requested data",
    headers: {
      "Cache-Control": header("CacheControl"),
      ...(isRevalidated(declaration) ? { ETag: header("ETag") } : {}),
      ...(isVersioned(declaration) && declaration.method === "GET" ? { ETag: header("Version") } : {}),
      ...(declaration.creates ? { Location: header("Location") } : {}),
      ...(declaration.followsSlugs ? { "Content-Location": header("ContentLocation") } : {}),
    },
    content: { "application/json": content },
  };
}

const header = (name: string) => ({ $ref: `#/components/headers/${name}` });

function content(response: Exclude<ResponseKind, { readonly redirect: string }>): Content {
  if ("message" in response) return envelope(200, [response.message]);
  if ("record" in response) return { schema: reference(response.record), example: readExamples()[response.record] };
  const { field, count } = response;
  const items = [readExamples()[response.list]];
  const example = field ? { [field]: items, max: 1, from: 0, to: 1, ...(count ? { count: 1 } : {}) } : items;
  return { schema: reference(listName(response.list)), example };
}

/** The envelope with one of these messages. */
function envelope(code: number, messages: readonly string[]): Content {
  const examples = messages.map((data) => ({ data, code }));
  return { schema: { ...reference("Envelope"), ...(examples.length > 1 ? { examples } : {}) }, example: examples[0] };
}

/** Temporary errors, which have a `Retry-After` header. */
const temporary: ReadonlySet<string> = new Set([
  commonErrors[503],
  nothingChanged,
  THROTTLED.message,
  INTEGRATION_TIMEOUT.message,
]);

/** The message depends on whether the change was made. */
const ofUnavailableChange =
  `Unavailable. After \`${nothingChanged}\` the change was not made; after \`${commonErrors[503]}\` the change may have ` +
  "been made. With an `Idempotency-Key` the same request can be sent again after either: the change is made once.";

const quoted = (message: string, _: number, { length }: readonly string[]) => (length > 1 ? `\`${message}\`` : message);

const failure = (status: number, messages: readonly string[]) => ({
  description: messages.includes(nothingChanged) ? ofUnavailableChange : messages.map(quoted).join(", "),
  ...(messages.some((each) => temporary.has(each)) ? { headers: { "Retry-After": header("RetryAfter") } } : {}),
  ...(status in causes ? { headers: causes[status] } : {}),
  content: { "application/json": envelope(status, messages) },
});

/** The headers that name the cause of an error. */
const causes: Readonly<Record<number, object>> = {
  400: { "Invalid-Parameters": header("InvalidParameters") },
  403: { "Missing-Permission": header("MissingPermission") },
};

/** Whether it needs no session, and a page of another origin may not end one. */
const isSignOut = (declaration: Declaration) => declaration.needsSignIn === true && !isNavigation(declaration);

const only = (
  isPossible: unknown,
  status: keyof typeof commonErrors,
  message: string = commonErrors[status],
): readonly Failure[] => (isPossible ? [[status, message]] : []);

/** All error messages of an endpoint. */
export function failuresOf(declaration: Declaration): Failure[] {
  const { errors, permission, body, forbids } = declaration;
  const headers = headersOf(declaration);
  const names = [...Object.keys({ ...queryOf(declaration), ...body }), ...headers];
  const particular = Object.entries(errors).map(([status, message]): Failure => [Number(status), message]);
  return [
    [400, commonErrors[400]],
    ...names.map((name): Failure => [400, invalidParameter(name)]),
    ...only(needsCaller(declaration), 401),
    ...only(permission || isSignOut(declaration), 403),
    ...ruleMessages(forbids).map((message): Failure => [403, message]),
    ...particular,
    ...only(headers.includes("If-Match"), 412),
    // If a function crashes, the message is API Gateway's.
    ...only(errors[500] !== commonErrors[500], 500),
    [503, commonErrors[503]],
    ...only(isRepeatable(declaration), 503, nothingChanged),
    ...gatewayFailures,
  ];
}
