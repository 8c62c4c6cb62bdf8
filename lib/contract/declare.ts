import type * as z from "zod/mini";
import type * as answers from "./answers.ts";
import type { Permission } from "./permissions.ts";

/** Names of the answer schemas in answers.ts; the OpenAPI document uses the same names for its components. */
export type AnswerName = keyof typeof answers;
/** The TypeScript type of an answer. Only types are imported, so no answer schema reaches a bundle. */
export type Answer<Name extends AnswerName> = z.infer<(typeof answers)[Name]>;

type Parameters = Readonly<Record<string, z.ZodMiniType>>;

/** How an endpoint answers 200. */
export type Answers =
  /** one record, or a bare value */
  | { readonly record: AnswerName }
  /** `{[field]: [item, …], max, from, to}`; a bare array where no field is named; `count` after `to` where asked for */
  | { readonly list: AnswerName; readonly field?: string; readonly count?: true }
  /** the response envelope with this message */
  | { readonly message: string };

/**
 * What the interface says of one endpoint. Everything else follows from it: the route, the function serving it, its
 * place in the OpenAPI document, who may call it and which errors it can give.
 */
export interface Declaration {
  /** One sentence for people. */
  readonly summary: string;
  readonly method: "GET" | "POST" | "DELETE";
  /** As API Gateway writes it: `/admin-roles/edit/{id}`. */
  readonly path: `/${string}`;
  /** The permission its caller must hold; without one the endpoint is public. */
  readonly permission?: Permission;
  readonly parameters?: Parameters;
  readonly query?: Parameters;
  readonly body?: Parameters;
  readonly answers: Answers;
  /** Messages by status, beyond the common ones in errors.ts. */
  readonly errors: Readonly<Partial<Record<404 | 405 | 409 | 500 | 503, string>>>;
  /** Opens an edit lock, so that it changes something although it is a GET. */
  readonly locks?: true;
  /** Works only on instances that handle file uploads. */
  readonly files?: true;
  /** Deletes a record that may have an image: where there is a file service, the objects go with it. */
  readonly removesImages?: true;
  /** The answer differs from call to call, so nobody may keep it. */
  readonly volatile?: true;
}

/** Declares an endpoint; the types of its input and answer are inferred from what is given. */
export function declare<const D extends Declaration>(declaration: D): D {
  return declaration;
}

/**
 * The paths that lead to an endpoint: its own, and the one that ends before its parameter, so that the endpoint itself
 * says that it is missing.
 */
export function routesOf({ path }: Pick<Declaration, "path">): readonly string[] {
  const shorter = path.replace(/\/\{\w+\}$/, "");
  return shorter === path ? [path] : [path, shorter];
}

/** The methods that lead to an endpoint: what everybody may GET changes nothing, and answers HEAD as well. */
export const methodsOf = ({ method, permission }: Pick<Declaration, "method" | "permission">): readonly string[] =>
  method === "GET" && !permission ? ["GET", "HEAD"] : [method];

/** The endpoints of each path, one a method. */
export function byRoute<D extends Pick<Declaration, "path">>(declarations: readonly D[]): ReadonlyMap<string, D[]> {
  const routes = declarations.flatMap((declaration) => routesOf(declaration).map((path) => ({ path, declaration })));
  const grouped = Map.groupBy(routes, ({ path }) => path);
  return new Map([...grouped].map(([path, all]) => [path, all.map(({ declaration }) => declaration)]));
}

/** Where an endpoint lives in `functions/`, `events/` and `test/functions/`: `admin-roles/edit`, `contributors/list`. */
export function stem({ path }: Pick<Declaration, "path">): string {
  const segments = path.split("/").filter((segment) => segment !== "" && !segment.startsWith("{"));
  return segments.length === 1 ? `${segments[0]}/list` : segments.join("/");
}

/** The name of the endpoint's Lambda function, without a stack's prefix: `admin-roles-edit`. */
export function functionName(declaration: Pick<Declaration, "path">): string {
  return stem(declaration).replaceAll("/", "-");
}
