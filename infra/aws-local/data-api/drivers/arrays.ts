import { unsupportedResult } from "../errors.ts";

const element = /"((?:[^"\\]|\\.)*)"|([^,{}"]+)/gy;

/** The elements of a one-dimensional array as PostgreSQL writes it, such as `{1,NULL,"a b"}` or `[0:1]={1,2}`. */
export function parseArray(text: string): (string | null)[] {
  const open = text.indexOf("{");
  if (text[open + 1] === "{") throw unsupportedResult("The result contains a multidimensional array");
  const elements: (string | null)[] = [];
  element.lastIndex = open + 1;
  for (let found = element.exec(text); found; found = element.exec(text)) {
    const [, quoted, plain] = found;
    if (quoted !== undefined) elements.push(quoted.replaceAll(/\\(.)/g, "$1"));
    else elements.push(plain === "NULL" ? null : (plain ?? ""));
    // Step over the comma that follows.
    element.lastIndex += 1;
  }
  return elements;
}
