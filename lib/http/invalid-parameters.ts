import type { Fault } from "../contract/faults.ts";
import { invalidParametersHeader } from "../contract/headers.ts";

/** API Gateway permits 10,240 bytes for all headers of a response. */
const lengthMax = 2_000;

/** What is wrong with a request, as a list of the structured fields of RFC 9651. What does not fit in is left out. */
export function invalidParameters(faults: readonly Fault[]): Record<string, string> {
  let text = "";
  for (const { name, reason, details = {} } of faults) {
    const parameters = Object.entries({ reason, ...details }).map(([key, value]) => `;${key}=${bareItem(value)}`);
    const item = `${text === "" ? "" : ", "}${itemOf(name)}${parameters.join("")}`;
    if (text.length + item.length > lengthMax) break;
    text += item;
  }
  return { [invalidParametersHeader]: text };
}

const bareItem = (value: string | number): string => (typeof value === "number" ? `${value}` : quoted(value));

/** Declared names are tokens; a name of the client's may have any characters. */
const itemOf = (name: string): string => (/^[A-Za-z*][\w!#$%&'*+.^`|~:/-]*$/.test(name) ? name : quoted(name));

/** A string, or if ASCII does not suffice a display string, whose escapes are in lower case. */
function quoted(text: string): string {
  if (/^[ -~]*$/.test(text)) return `"${text.replace(/["\\]/g, "\\$&")}"`;
  const escaped = encodeURIComponent(text.toWellFormed()).replace(/%../g, (each) => each.toLowerCase());
  return `%"${escaped}"`;
}
