import { BlockList } from "node:net";
import { type Properties, type Template, templateText } from "../synthesis.ts";

export interface Visit {
  /** Of who sends it to API Gateway. */
  readonly address: string;
  readonly path: string;
  readonly query?: string;
  /** By name in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The rate-based rules of a web ACL that count a request, each with the address it counts it for (AWS WAF, "Rule statements"). */
export function countedBy(template: Template, visit: Visit): Record<string, string> {
  const rules: Properties[] = template.one("WAFv2::WebACL").Properties.Rules;
  return Object.fromEntries(
    rules.flatMap(({ Name, Statement }) => {
      const rate = Statement.RateBasedStatement;
      if (!rate || (rate.ScopeDownStatement && !holds(template, rate.ScopeDownStatement, visit))) return [];
      const header = rate.ForwardedIPConfig?.HeaderName.toLowerCase();
      const address = rate.AggregateKeyType === "IP" ? visit.address : visit.headers?.[header];
      return address === undefined ? [] : [[Name, address]];
    }),
  );
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
    case "ByteMatchStatement":
      return it.PositionalConstraint === "EXACTLY" && fieldOf(it, visit) === templateText(it.SearchString);
    case "RegexMatchStatement":
      return new RegExp(it.RegexString).test(fieldOf(it, visit) ?? "");
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

function fieldOf({ FieldToMatch, TextTransformations }: Properties, { path, query = "", headers = {} }: Visit) {
  if (TextTransformations.some((each: Properties) => each.Type !== "NONE")) throw new Error("Nothing is transformed");
  const [type, field = {}] = Object.entries<Properties>(FieldToMatch)[0] ?? [];
  return type === "UriPath" ? path : type === "QueryString" ? query : headers[field.Name];
}

function isInSet(template: Template, { Arn, IPSetForwardedIPConfig: named }: Properties, visit: Visit): boolean {
  const { Addresses, IPAddressVersion } = template.find(Arn).Properties;
  const address = named ? visit.headers?.[named.HeaderName.toLowerCase()] : visit.address;
  if (address === undefined) return false;
  const version = IPAddressVersion === "IPV6" ? "ipv6" : "ipv4";
  const list = new BlockList();
  for (const each of Addresses as string[]) {
    const [network = "", length] = each.split("/");
    list.addSubnet(network, Number(length), version);
  }
  return list.check(address, address.includes(":") ? "ipv6" : "ipv4");
}
