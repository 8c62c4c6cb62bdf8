import type { Declaration } from "../../lib/contract/declare.ts";

export interface Match {
  readonly declarations: readonly Declaration[];
  readonly pathParameters: Record<string, string> | null;
}

/** Finds the endpoints of a path, as API Gateway does: segment by segment, to the letter, parameters decoded. */
export function router(endpoints: readonly Declaration[]): (path: string) => Match | undefined {
  const resources = Map.groupBy(endpoints, ({ path }) => path);
  // A literal segment outweighs a parameter.
  const ordered = [...resources].sort(([left], [right]) => parameters(left) - parameters(right));
  return (path) => {
    for (const [resource, declarations] of ordered) {
      const pathParameters = match(resource, path);
      if (pathParameters)
        return { declarations, pathParameters: Object.keys(pathParameters).length ? pathParameters : null };
    }
    return undefined;
  };
}

const parameters = (resource: string) => resource.split("{").length;

function match(resource: string, path: string): Record<string, string> | undefined {
  const wanted = resource.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return undefined;
  const found: Record<string, string> = {};
  for (const [place, segment] of wanted.entries()) {
    const value = given[place] ?? "";
    const name = /^\{(.+)\}$/.exec(segment)?.[1];
    if (name === undefined ? segment !== value : value === "") return undefined;
    if (name !== undefined) found[name] = decoded(value);
  }
  return found;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
