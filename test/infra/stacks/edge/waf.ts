import { posix } from "node:path";
import { expect } from "vitest";
import type { Properties, Template } from "../synthesis.ts";

export interface Visit {
  readonly path: string;
  readonly query?: string;
  /** As the client states it. */
  readonly contentLength?: number;
  readonly method?: string;
  /** Of the page that sends it. */
  readonly origin?: string;
  /** Whether its address is in the IP sets. */
  readonly isTrusted?: boolean;
}

const rulesOf = (template: Template): Properties[] => template.one("WAFv2::WebACL").Properties.Rules;

/** The rate-based rules of a web ACL that count a request for its address (AWS WAF, "Rule statements"). */
export function countedBy(template: Template, visit: Visit): string[] {
  return rulesOf(template).flatMap(({ Name, Statement }) => {
    const rate = Statement.RateBasedStatement;
    if (!rate || (rate.ScopeDownStatement && !holds(rate.ScopeDownStatement, visit))) return [];
    if (rate.AggregateKeyType !== "IP") throw new Error("Nobody says whose request it is but the connection");
    return [Name];
  });
}

/**
 * How our rules refuse a request, of an address that is above all limits or above none; undefined if they do not. A rule
 * that counts may label the request, and later ones match the label (AWS WAF, "Labels on web requests").
 */
export function refusalOf(template: Template, visit: Visit, isLimited: boolean): Properties | undefined {
  const counted = isLimited ? countedBy(template, visit) : [];
  const labels = new Set<string>();
  for (const { Name, Action, RuleLabels = [], Statement } of rulesOf(template)) {
    if (!Action) continue;
    const matches = Statement.RateBasedStatement ? counted.includes(Name) : holds(Statement, visit, labels);
    if (!matches) continue;
    for (const each of RuleLabels) labels.add(each.Name);
    if (Action.Block) return Action.Block.CustomResponse;
  }
  return undefined;
}

function holds(statement: Properties, visit: Visit, labels: ReadonlySet<string> = new Set()): boolean {
  const [[type, it] = ["", {}], ...others] = Object.entries<Properties>(statement);
  expect(others).toEqual([]);
  switch (type) {
    case "AndStatement":
      // WAF takes no conjunction of one.
      expect(it.Statements.length).toBeGreaterThan(1);
      return it.Statements.every((each: Properties) => holds(each, visit, labels));
    case "NotStatement":
      return !holds(it.Statement, visit, labels);
    case "RegexMatchStatement":
      return new RegExp(it.RegexString).test(fieldOf(it, visit));
    case "ByteMatchStatement":
      expect(it.PositionalConstraint).toBe("EXACTLY");
      return fieldOf(it, visit) === it.SearchString;
    case "LabelMatchStatement":
      return labels.has(it.Key);
    case "IPSetReferenceStatement":
      return visit.isTrusted ?? false;
    default:
      throw new Error(`Unknown: ${type}`);
  }
}

const transformations: Readonly<Record<string, (text: string) => string>> = {
  NONE: (text) => text,
  URL_DECODE: decodeURIComponent,
  NORMALIZE_PATH: posix.normalize,
};

function fieldOf(
  { FieldToMatch, TextTransformations }: Properties,
  { path, query = "", contentLength, method = "GET", origin = "" }: Visit,
): string {
  const header = { "content-length": `${contentLength ?? ""}`, origin }[String(FieldToMatch.SingleHeader?.Name)];
  const fields = { UriPath: path, QueryString: query, SingleHeader: header, Method: method };
  const text = fields[Object.keys(FieldToMatch).join() as keyof typeof fields];
  if (text === undefined) throw new Error(`Unknown: ${JSON.stringify(FieldToMatch)}`);
  return (TextTransformations as Properties[]).reduce((before, { Type }) => {
    const transform = transformations[Type];
    if (!transform) throw new Error(`Unknown: ${Type}`);
    return transform(before);
  }, text);
}
