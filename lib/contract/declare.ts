import type * as z from "zod/mini";
import type { Permission } from "./permissions.ts";
import type * as responses from "./responses.ts";

/** Names of the response schemas in responses.ts, of which no bundle contains more than these types; the OpenAPI document uses the same names for its components. */
export type ResponseName = keyof typeof responses;

type Parameters = Readonly<Record<string, z.ZodMiniType>>;

/** Names what a response shows, so that shared caches drop it when that changes; `{id}` is the path's parameter. */
export type CacheTag = "contributors" | "contributor-{id}" | "publishers" | "publisher-{id}" | "series";

type Method = "GET" | "POST" | "DELETE";

/** The response with status 200. */
export type ResponseKind =
  /** one record, or one value */
  | { readonly record: ResponseName }
  /**
   * `{[field]: [item, …], max, from, to}`; an array if there is no field; `count` after `to` if it is true. A `random`
   * field of the items is chosen anew for each request
   */
  | { readonly list: ResponseName; readonly field?: string; readonly count?: true; readonly random?: string }
  /** the response envelope with this message */
  | { readonly message: string }
  /** status 302: a browser is sent on to what this names. Its errors are pages, since people see them */
  | { readonly redirect: string };

/**
 * What the interface says about one endpoint. Everything else follows from it: the route, the function, the operation
 * in the OpenAPI document, the caller's permission and the possible errors.
 */
export interface Declaration {
  /** One sentence for the OpenAPI document. */
  readonly summary: string;
  readonly method: Method;
  /** As API Gateway writes it: `/admin-roles/edit/{id}`. */
  readonly path: `/${string}`;
  /** The permission that the caller must hold; an endpoint without one is public, unless it needs a session. */
  readonly permission?: Permission;
  /** Needs a session, and no permission. */
  readonly needsSession?: true;
  readonly parameters?: Parameters;
  readonly query?: Parameters;
  /** Query parameters beyond the interface (README.md, "Beyond the interface"). */
  readonly extensionQuery?: Parameters;
  readonly body?: Parameters;
  /** Takes the body as a merge patch, too: `application/merge-patch+json` (README.md, "Beyond the interface"). */
  readonly mergePatch?: true;
  /** The path of the record that it adds, for `Location`. */
  readonly creates?: `/${string}/{id}`;
  readonly response: ResponseKind;
  /** Finds records by former slugs, too: then `Content-Location` is its path with the slug that the record has. */
  readonly followsSlugs?: true;
  /** Messages by status, beside the common ones in errors.ts. */
  readonly errors: Readonly<Partial<Record<403 | 404 | 405 | 409 | 500 | 503, string>>>;
  /** When a caller with the permission gets 403, by the rules in README.md, "Who may do what". */
  readonly forbids?: Readonly<Partial<Record<1 | 2 | 3, string>>>;
  /** The GET takes an edit lock, so it changes something. */
  readonly takesEditLock?: true;
  /** Works only on instances with a file service. */
  readonly needsFileService?: true;
  /** Works only on instances that handle sign-in (lib/sign-in). It needs no session, and knows one by the cookie. */
  readonly needsSignIn?: true;
  /** Deletes a record that may have an image: an instance with a file service deletes its objects, too. */
  readonly deletesImage?: true;
  /** The cache tags of a public list. Those of a record come from its statement. */
  readonly tags?: readonly CacheTag[];
  /** Changes what the public reads: on a stage with an edge, responses are then invalidated. */
  readonly changesPublic?: true;
  /** The response differs from call to call, so it must not be cached. */
  readonly notCacheable?: true;
}

type Particulars = Omit<Declaration, "method" | "path" | "errors"> & Partial<Pick<Declaration, "errors">>;

/** Without a permission an endpoint is public, and caches keep its responses: no administrative one may be. */
type ParticularsOf<Route> = Route extends `${Method} /admin-${string}`
  ? Particulars & { readonly permission: Permission }
  : Particulars;

type Declared<Route, D> = Route extends `${infer M extends Method} ${infer P extends Declaration["path"]}`
  ? D & { readonly method: M; readonly path: P; readonly errors: object }
  : never;

/**
 * Declares an endpoint; the types of its input and response are inferred. Without side effects a bundle has only the
 * declarations that it uses.
 */
export function declare<const Route extends `${Method} /${string}`, const D extends ParticularsOf<Route>>(
  route: Route,
  particulars: D,
): Declared<Route, D>;
/* @__NO_SIDE_EFFECTS__ */
export function declare(route: string, particulars: object): object {
  const [method, path] = route.split(" ");
  return { method, path, errors: {}, ...particulars };
}

/** The validated values of these parameters. */
export type Parsed<S> = S extends Parameters ? Readonly<z.output<z.ZodMiniObject<S>>> : Record<never, never>;
/** The validated query of an endpoint. */
export type QueryOf<D extends Declaration> = Parsed<D["query"]> & Parsed<D["extensionQuery"]>;
/** What selects the records of a list, whatever the page. */
export type Filters<D extends Declaration> = Omit<QueryOf<D>, "limit" | "offset">;

type Access = Pick<Declaration, "permission" | "needsSession" | "needsSignIn">;

/** Whether only callers with a session may call the endpoint. */
export const needsCaller = ({ permission, needsSession }: Access): boolean =>
  permission !== undefined || needsSession === true;

/** Whether pages of all sites may call the endpoint, and everybody gets the same. */
export const isPublic = (declaration: Access): boolean => !needsCaller(declaration) && !declaration.needsSignIn;

/** Whether browsers go there, and no script calls it: there are no CORS headers, and errors are pages. */
export const isNavigation = ({ response }: Pick<Declaration, "response">): boolean => "redirect" in response;

/** Whether caches may keep its responses. */
export const isCacheable = (declaration: Access & Pick<Declaration, "method" | "notCacheable">): boolean =>
  declaration.method === "GET" && isPublic(declaration) && !declaration.notCacheable;

/** Whether it shows everybody one record. */
export const isPublicRecord = (declaration: Access & Pick<Declaration, "response">): boolean =>
  isPublic(declaration) && "record" in declaration.response;

/** All query parameters of an endpoint, in the order in which an error names the first invalid one. */
export const queryOf = ({ query, extensionQuery }: Pick<Declaration, "query" | "extensionQuery">): Parameters => ({
  ...query,
  ...extensionQuery,
});

/**
 * The paths of an endpoint: its own, and the one without its last parameter. So the endpoint itself reports that the
 * parameter is missing.
 */
export function routesOf({ path }: Pick<Declaration, "path">): readonly string[] {
  const withoutParameter = path.replace(/\/\{\w+\}$/, "");
  return withoutParameter === path ? [path] : [path, withoutParameter];
}

/** The methods of an endpoint: a public GET supports HEAD, too. */
export const methodsOf = (declaration: Access & Pick<Declaration, "method">): readonly string[] =>
  declaration.method === "GET" && isPublic(declaration) ? ["GET", "HEAD"] : [declaration.method];

/** The endpoints of each path, one for each method. */
export function byRoute<D extends Pick<Declaration, "path">>(declarations: readonly D[]): ReadonlyMap<string, D[]> {
  const routes = declarations.flatMap((declaration) => routesOf(declaration).map((path) => ({ path, declaration })));
  const grouped = Map.groupBy(routes, ({ path }) => path);
  return new Map([...grouped].map(([path, all]) => [path, all.map(({ declaration }) => declaration)]));
}

type Named = Pick<Declaration, "path"> & { readonly response: object };

/**
 * The path of an endpoint's files in `functions/`, `events/` and `test/functions/`, without extension:
 * `admin-roles/edit`, `admin-roles/list`, `sign-in/begin`, `session`.
 */
export function endpointPath({ path, response }: Named): string {
  const segments = path.split("/").filter((segment) => segment !== "" && !segment.startsWith("{"));
  if (segments.length > 1) return segments.join("/");
  return `${segments[0]}${"list" in response ? "/list" : "redirect" in response ? "/begin" : ""}`;
}

/** What the paths of whole lists begin with, to which the edge sends what has no `limit` (infra/api/whole-lists.ts). */
export const wholeSegment = "/whole";

export const asWhole = <D extends Pick<Declaration, "path">>(declaration: D): D => ({
  ...declaration,
  path: `${wholeSegment}${declaration.path}`,
});

/** The name of the endpoint's Lambda function, without a stack's prefix: `admin-roles-edit`. */
export function functionName(declaration: Named): string {
  return endpointPath(declaration).replaceAll("/", "-");
}
