import { BlockList } from "node:net";
import { posix } from "node:path";
import type { Properties, Template } from "../synthesis.ts";

export interface Visit {
  /** Of who sends it to API Gateway, or to CloudFront. */
  readonly address: string;
  readonly path: string;
  readonly query?: string;
  /** As the client states it. */
  readonly contentLength?: number;
}

/** Whether the rule of this name matches a request. */
export function matchesRule(template: Template, name: string, visit: Visit): boolean {
  const rules: Properties[] = template.one("WAFv2::WebACL").Properties.Rules;
  const rule = rules.find(({ Name }) => Name === name);
  if (!rule) throw new Error(`There is no rule ${name}`);
  return holds(template, rule.Statement, visit);
}

/** The rate-based rules of a web ACL that count a request for its address (AWS WAF, "Rule statements"). */
export function countedBy(template: Template, visit: Visit): string[] {
  const rules: Properties[] = template.one("WAFv2::WebACL").Properties.Rules;
  return rules.flatMap(({ Name, Statement }) => {
    const rate = Statement.RateBasedStatement;
    if (!rate || (rate.ScopeDownStatement && !holds(template, rate.ScopeDownStatement, visit))) return [];
    if (rate.AggregateKeyType !== "IP") throw new Error("Nobody says whose request it is but the connection");
    return [Name];
  });
}

function holds(template: Template, statement: Properties, visit: Visit): boolean {
  const [[type, it] = ["", {}], ...others] = Object.entries<Properties>(statement);
  if (others.length > 0) throw new Error("A statement is of one type");
  switch (type) {
    case "AndStatement":
      return several(it).every((each) => holds(template, each, visit));
    case "OrStatement":
      return several(it).some((each) => holds(template, each, visit));
    case "NotStatement":
      return !holds(template, it.Statement, visit);
    case "RegexMatchStatement":
      return new RegExp(it.RegexString).test(fieldOf(it, visit));
    case "IPSetReferenceStatement":
      return isInSet(template, it, visit);
    default:
      throw new Error(`Unknown: ${type}`);
  }
}

/** WAF takes no conjunction of one. */
function several({ Statements }: Properties): Properties[] {
  if (Statements.length < 2) throw new Error("There are two statements at least");
  return Statements;
}

const transformations: Readonly<Record<string, (text: string) => string>> = {
  NONE: (text) => text,
  URL_DECODE: decodeURIComponent,
  NORMALIZE_PATH: posix.normalize,
};

function fieldOf(
  { FieldToMatch, TextTransformations }: Properties,
  { path, query = "", contentLength }: Visit,
): string {
  const length = FieldToMatch.SingleHeader?.Name === "content-length" ? `${contentLength ?? ""}` : undefined;
  const text = { UriPath: path, QueryString: query, SingleHeader: length }[Object.keys(FieldToMatch).join()];
  if (text === undefined) throw new Error(`Unknown: ${JSON.stringify(FieldToMatch)}`);
  return (TextTransformations as Properties[]).reduce((before, { Type }) => {
    const transform = transformations[Type];
    if (!transform) throw new Error(`Unknown: ${Type}`);
    return transform(before);
  }, text);
}

function isInSet(template: Template, { Arn }: Properties, { address }: Visit): boolean {
  const { Addresses, IPAddressVersion } = template.find(Arn).Properties;
  const version = IPAddressVersion === "IPV6" ? "ipv6" : "ipv4";
  const list = new BlockList();
  for (const each of Addresses as string[]) {
    const [network = "", length] = each.split("/");
    list.addSubnet(network, Number(length), version);
  }
  return list.check(address, address.includes(":") ? "ipv6" : "ipv4");
}
