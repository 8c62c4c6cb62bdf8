export interface Match<Resource> {
  /** As the document writes it: `/admin-roles/edit/{id}`. */
  readonly path: string;
  readonly resource: Resource;
  /** As in the request's path, not decoded. */
  readonly pathParameters: Readonly<Record<string, string>> | null;
}

interface Node<Resource> {
  /** By segment. */
  readonly literals: Map<string, Node<Resource>>;
  parameter?: Node<Resource>;
  end?: { readonly path: string; readonly names: readonly string[]; readonly resource: Resource };
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
  const root: Node<Resource> = { literals: new Map() };
  for (const [path, resource] of resources) {
    const names: string[] = [];
    const node = segmentsOf(path).reduce<Node<Resource>>((parent, segment) => {
      const name = /^\{(.+)\}$/.exec(segment)?.[1];
      if (name !== undefined) names.push(name);
      const child = (name === undefined ? parent.literals.get(segment) : parent.parameter) ?? { literals: new Map() };
      if (name === undefined) parent.literals.set(segment, child);
      else parent.parameter = child;
      return child;
    }, root);
    node.end = { path, names, resource };
  }
  return (path) => {
    const values: string[] = [];
    const end = findEnd(root, segmentsOf(path), values);
    if (!end) return undefined;
    const parameters = end.names.map((name, index) => [name, values[index] ?? ""] as const);
    return { ...end, pathParameters: parameters.length > 0 ? Object.fromEntries(parameters) : null };
  };
}

const segmentsOf = (path: string) => path.replace(/\/$/, "").split("/");

/** Collects the values of the parameters on the way to a resource. */
function findEnd<Resource>(
  { literals, parameter, end }: Node<Resource>,
  [segment, ...others]: readonly string[],
  values: string[],
): Node<Resource>["end"] {
  if (segment === undefined) return end;
  const literal = literals.get(segment);
  const found = literal && findEnd(literal, others, values);
  if (found || !parameter || segment === "") return found;
  values.push(segment);
  const further = findEnd(parameter, others, values);
  if (!further) values.pop();
  return further;
}
