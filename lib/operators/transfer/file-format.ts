/** UTF-16 begins with a byte-order mark of two bytes. */
const isUtf16 = ([first, second]: Uint8Array) =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);

/**
 * Why a file is no lines of JSON, if its beginning shows what it is instead: otherwise each of its lines would be refused.
 * @param beginning at least the first line, or a kilobyte
 */
export function otherFormat(beginning: Buffer): string | undefined {
  if (isUtf16(beginning)) return `The file is UTF-16. ${asUtf8}`;
  const text = beginning.toString("utf8", 0, beginningBytes);
  if (text.startsWith("\ufeff")) return `The file begins with a byte-order mark. ${asUtf8}`;
  if (/^\s*\[/.test(text)) return `The file is a JSON array. ${asLines}, as by jq -c '.[]'`;
  if (/^\s*\{\s*\n/.test(text)) return `The file has records of several lines. ${asLines}, as by jq -c .`;
  if (/^\s*[^\s{][^\n]*[,;\t]/.test(text)) return `The file is CSV, or another table. ${asLines}`;
  if (/\S.*\n/.test(text) && !/^\s*\{/m.test(text)) return `The file is text or an archive, and no JSON. ${asLines}`;
  return undefined;
}

const beginningBytes = 1_024;
const asUtf8 = "Save it as UTF-8 without a byte-order mark";
const asLines = "Write each record as a JSON object on a line of its own";
