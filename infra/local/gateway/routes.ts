import { byRoute, type Declaration } from "../../../lib/contract/declare.ts";

export interface Match {
  /** The path as it is declared, or without its last parameter. */
  readonly resource: string;
  /** The endpoints of the path. */
  readonly declarations: readonly Declaration[];
  /** As they stand in the path. */
  readonly pathParameters: Readonly<Record<string, string>> | null;
}

/**
 * Finds the endpoints of a path as API Gateway does: segment by segment, to the letter. What is not exactly a resource
 * (another case, a dot segment, an encoded letter, a slash more) is none; only one slash at the end changes nothing
 * (aws/aws-sam-cli#1495).
 */
export function router(endpoints: readonly Declaration[]): (path: string) => Match | undefined {
  const resources = [...byRoute(endpoints)].map(([resource, declarations]) => ({
    resource,
    segments: resource.split("/"),
    declarations,
  }));
  // A literal segment outweighs a parameter.
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

/** The parameters and their values; undefined when the path is not of this resource. */
function match(segments: readonly string[], given: readonly string[]): [string, string][] | undefined {
  if (segments.length !== given.length) return undefined;
  const found: [string, string][] = [];
  for (const [place, segment] of segments.entries()) {
    const value = given[place] ?? "";
    const name = nameOf(segment);
    if (name === undefined ? segment !== value : value === "") return undefined;
    if (name !== undefined) found.push([name, value]);
  }
  return found;
}
