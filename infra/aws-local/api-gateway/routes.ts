export interface Match<Resource> {
  /** As the document writes it: `/admin-roles/edit/{id}`. */
  readonly path: string;
  readonly resource: Resource;
  /** As in the request's path, not decoded. */
  readonly pathParameters: Readonly<Record<string, string>> | null;
}

interface Node<Resource> {
  readonly literals: Map<string, Node<Resource>>;
  parameter?: { readonly name: string; readonly node: Node<Resource> };
  end?: { readonly path: string; readonly resource: Resource };
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
  for (const [path, resource] of resources) addNode(root, path).end = { path, resource };
  return (path) => {
    const values: [string, string][] = [];
    const end = findEnd(root, segmentsOf(path), 0, values);
    return end && { ...end, pathParameters: values.length > 0 ? Object.fromEntries(values) : null };
  };
}

const segmentsOf = (path: string) => path.replace(/\/$/, "").split("/");

function addNode<Resource>(root: Node<Resource>, path: string): Node<Resource> {
  let node = root;
  for (const segment of segmentsOf(path)) {
    const name = /^\{(.+)\}$/.exec(segment)?.[1];
    if (name === undefined) {
      const next: Node<Resource> = node.literals.get(segment) ?? { literals: new Map() };
      node.literals.set(segment, next);
      node = next;
    } else {
      node.parameter ??= { name, node: { literals: new Map() } };
      // API Gateway refuses to import such a document.
      if (node.parameter.name !== name) throw new Error(`${path}: a sibling of {${name}} is {${node.parameter.name}}`);
      node = node.parameter.node;
    }
  }
  return node;
}

/** Collects the parameters on the way to the resource in `values`. */
function findEnd<Resource>(
  node: Node<Resource>,
  segments: readonly string[],
  index: number,
  values: [string, string][],
): Node<Resource>["end"] {
  const segment = segments[index];
  if (segment === undefined) return node.end;
  const literal = node.literals.get(segment);
  const end = literal && findEnd(literal, segments, index + 1, values);
  if (end || !node.parameter || segment === "") return end;
  values.push([node.parameter.name, segment]);
  const found = findEnd(node.parameter.node, segments, index + 1, values);
  if (!found) values.pop();
  return found;
}
