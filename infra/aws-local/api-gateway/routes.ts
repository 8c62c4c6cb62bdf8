import { byRoute, type Declaration } from "../../../lib/contract/declare.ts";

export interface Match {
  /** The path as it is declared, or without its last parameter. */
  readonly resource: string;
  /** The endpoints of the path. */
  readonly declarations: readonly Declaration[];
  /** As in the path, not decoded. */
  readonly pathParameters: Readonly<Record<string, string>> | null;
}

/**
 * Finds the endpoints of a path as API Gateway does: it compares segment by segment and character by character. Another
 * case, a dot segment, an encoded letter or an additional slash is another path; only one slash at the end is ignored
 * (aws/aws-sam-cli#1495).
 */
export function router(endpoints: readonly Declaration[]): (path: string) => Match | undefined {
  const resources = [...byRoute(endpoints)].map(([resource, declarations]) => ({
    resource,
    segments: resource.split("/"),
    declarations,
  }));
  // A literal segment takes precedence over a parameter.
  resources.sort((left, right) => parameterCount(left.segments) - parameterCount(right.segments));
  return (path) => {
    const given = path.replace(/\/$/, "").split("/");
    for (const { resource, segments, declarations } of resources) {
      const found = match(segments, given);
      if (found) return { resource, declarations, pathParameters: found.length > 0 ? Object.fromEntries(found) : null };
    }
    return undefined;
  };
}

const parameterCount = (segments: readonly string[]) => segments.filter((segment) => nameOf(segment)).length;

const nameOf = (segment: string) => /^\{(.+)\}$/.exec(segment)?.[1];

/** The parameters and their values; undefined when the path does not match the resource. */
function match(segments: readonly string[], given: readonly string[]): [string, string][] | undefined {
  if (segments.length !== given.length) return undefined;
  const found: [string, string][] = [];
  for (const [index, segment] of segments.entries()) {
    const value = given[index] ?? "";
    const name = nameOf(segment);
    if (name === undefined ? segment !== value : value === "") return undefined;
    if (name !== undefined) found.push([name, value]);
  }
  return found;
}
