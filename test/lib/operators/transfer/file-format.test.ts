import { describe, expect, it } from "vitest";
import { otherFormat } from "../../../../lib/operators/transfer/file-format.ts";

const line = '{"kind":"client","id":8,"name":"A"}';

describe("A file that is no lines of JSON", () => {
  it.each([
    ["a table of one column", "first_name\nOsamu\n", /^The file is text or an archive, and no JSON\. /],
    ["a table of bars", "kind|id\nclient|8\n", /^The file is text or an archive, and no JSON\. /],
    ["YAML", "- kind: client\n  id: 8\n", /^The file is text or an archive, and no JSON\. /],
    ["XML", "<?xml version='1.0'?>\n<client/>\n", /^The file is text or an archive, and no JSON\. /],
    ["a spreadsheet", "PK\u0003\u0004\u0014\n\u0000", /^The file is text or an archive, and no JSON\. /],
    [
      "an object of several lines",
      `${JSON.stringify(JSON.parse(line), null, 2)}\n`,
      /^The file has records of several lines\. /,
    ],
    ["an array behind empty lines", `\n\n  [${line}]`, /^The file is a JSON array\. /],
    ["CSV with quoted names", '"kind","id"\r\n"client","8"\r\n', /^The file is CSV, or another table\. /],
  ])("is called what it is: %s", (_, content, reason) => {
    expect(otherFormat(Buffer.from(content))).toMatch(reason);
  });

  it.each([
    ["empty", ""],
    ["of empty lines", "\n\n"],
    ["of one line", line],
    ["of a first line that goes on behind the first kilobyte", `${"x".repeat(2_000)}\n${line}\n`],
    ["of a wrong line before a right one", `oops\n${line}\n`],
  ])("is none if it is %s", (_, content) => {
    expect(otherFormat(Buffer.from(content))).toBeUndefined();
  });
});
