import { bundleOf, wholeLists } from "../../infra/api/whole-lists.ts";
import type { Lambda } from "../../infra/aws-local/lambda/lambda.ts";
import { functionName } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";

const names = new Set(wholeLists(endpoints).map(functionName));

/**
 * The functions of a stage with an edge: those of whole lists run the same bundles in environments of their own.
 * @param whole where these run
 */
export const withWholeLists = (lambda: Lambda, whole: Lambda): Lambda => ({
  ...lambda,
  names: new Set([...lambda.names, ...names]),
  stream: (name, event) => (names.has(name) ? whole.stream(bundleOf(name), event) : lambda.stream(name, event)),
});
