export interface Match<Resource> {
  /** As the document writes it: `/admin-roles/edit/{id}`. */
  readonly path: string;
  readonly resource: Resource;
  /** As in the request's path, not decoded. */
  readonly pathParameters: Readonly<Record<string, string>> | null;
}

/**
 * Finds the resource of a path as API Gateway does: it compares segment by segment and character by character, and a
 * literal segment takes precedence over a parameter. Another case, a dot segment, an encoded letter or an additional
 * slash is another path; only one slash at the end is ignored (aws/aws-sam-cli#1495).
 * @param resources by path
 */
export function router<Resource>(
  resources: Iterable<readonly [string, Resource]>,
): (path: string) => Match<Resource> | undefined {
  // A brace comes behind all letters, so a parameter comes behind every literal segment.
  const routes = [...resources]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([path, resource]) => ({ path, resource, segments: segmentsOf(path) }));
  const byLength = Map.groupBy(routes, ({ segments }) => segments.length);
  return (requested) => {
    const values = segmentsOf(requested);
    const fits = (segment: string, index: number) =>
      isParameter(segment) ? values[index] !== "" : values[index] === segment;
    const found = byLength.get(values.length)?.find(({ segments }) => segments.every(fits));
    if (!found) return undefined;
    const { path, resource, segments } = found;
    const parameters = segments.flatMap((segment, index) =>
      isParameter(segment) ? [[segment.slice(1, -1), values[index] ?? ""] as const] : [],
    );
    return { path, resource, pathParameters: parameters.length > 0 ? Object.fromEntries(parameters) : null };
  };
}

const segmentsOf = (path: string) => path.replace(/\/$/, "").split("/");

const isParameter = (segment: string) => segment.startsWith("{");
