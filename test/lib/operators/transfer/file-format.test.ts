import { describe, expect, it } from "vitest";
import { otherFormat } from "../../../../lib/operators/transfer/file-format.ts";

const line = '{"kind":"client","id":8,"name":"A"}';

const textOrArchive = /^The file is text or an archive, and no JSON\. /;

describe("A file that is no lines of JSON", () => {
  it.each([
    { what: "a table of one column", content: "first_name\nOsamu\n", reason: textOrArchive },
    { what: "a table of bars", content: "kind|id\nclient|8\n", reason: textOrArchive },
    { what: "YAML", content: "- kind: client\n  id: 8\n", reason: textOrArchive },
    { what: "XML", content: "<?xml version='1.0'?>\n<client/>\n", reason: textOrArchive },
    { what: "a spreadsheet", content: "PK\u0003\u0004\u0014\n\u0000", reason: textOrArchive },
    {
      what: "an object of several lines",
      content: `${JSON.stringify(JSON.parse(line), null, 2)}\n`,
      reason: /^The file has records of several lines\. /,
    },
    { what: "an array behind empty lines", content: `\n\n  [${line}]`, reason: /^The file is a JSON array\. / },
    {
      what: "CSV with quoted names",
      content: '"kind","id"\r\n"client","8"\r\n',
      reason: /^The file is CSV, or another table\. /,
    },
  ])("is called what it is: $what", ({ content, reason }) => {
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
