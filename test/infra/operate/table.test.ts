import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { table } from "../../../infra/operate/table.ts";

describe("A table", () => {
  it("wraps what is too wide, and indents what goes on in the last column", () => {
    const rows = [["2026-11-23 07:30:12Z", "first_name: from one name to quite another\nalias added: short"]];

    expect(table(["at", "what"], rows, 40, { at: 10 })).toEqual([
      "at          what",
      "2026-11-23  first_name: from one name to",
      "07:30:12Z     quite another",
      "            alias added: short",
    ]);
  });

  it.each([40, 80, 120, 200])("is at most %i columns wide, also with wide characters and long words", (width) => {
    const rows = [
      ["1", "鉄腕アトム".repeat(30), `https://example.org/${"x".repeat(300)}`],
      ["2", "a", "手塚治虫 ".repeat(60)],
    ];

    const lines = table(["id", "name", "what"], rows, width, { name: 9 });

    expect(Math.max(...lines.map((line) => stringWidth(line)))).toBeLessThanOrEqual(width);
    expect(lines.join("").replaceAll(/\s/g, "")).toContain("手塚治虫");
    const letters = (text: string) => [...text.replaceAll(/\s/g, "")].toSorted().join("");
    expect(letters(lines.join(""))).toBe(letters(`idnamewhat${rows.flat().join("")}`));
  });

  it("keeps a last column that can be read on a terminal that is too narrow", () => {
    const [, row] = table(["id", "what"], [["1", "y".repeat(60)]], 20);

    expect(row).toBe(`1   ${"y".repeat(24)}`);
  });
});
