const blanks = /[\t\n\r ]*/y;
const token =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON's strings contain none
  /[{}[\],:]|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?|true|false|null/y;

/** The first characters of values; 0 stands for those of numbers and words. */
const value = '{["0';

/**
 * The index of the first token with which a text is no JSON any more; the length of a text that ends too early. The
 * messages of `JSON.parse` contain it only sometimes.
 */
export function jsonErrorPosition(text: string): number {
  const open: string[] = [];
  let allowed = value;
  let position = 0;
  for (;;) {
    position += matchAt(blanks, text, position).length;
    const found = matchAt(token, text, position);
    const kind = /^[{}[\],:"]/.exec(found)?.[0] ?? "0";
    if (found === "" || !allowed.includes(kind)) return position;
    if ("{[".includes(kind)) open.push(kind);
    if ("}]".includes(kind)) open.pop();
    allowed = allowedAfter(kind, open.at(-1), allowed);
    position += found.length;
  }
}

function matchAt(pattern: RegExp, text: string, position: number): string {
  pattern.lastIndex = position;
  return pattern.exec(text)?.[0] ?? "";
}

function allowedAfter(kind: string, open: string | undefined, allowed: string): string {
  if (kind === "{") return '"}';
  if (kind === "[") return `${value}]`;
  if (kind === ":") return value;
  if (kind === ",") return open === "{" ? '"' : value;
  const isKey = kind === '"' && !allowed.includes("{");
  if (isKey) return ":";
  return open === undefined ? "" : open === "{" ? ",}" : ",]";
}
