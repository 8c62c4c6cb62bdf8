import { describe, expect, it } from "vitest";
import { readableSql } from "../../../infra/check/readable-sql.ts";

describe("A committed statement", () => {
  it("has a line for each clause that fits into 120 columns", () => {
    expect(readableSql("select id,\n case when b then ')' end\n from a where (\n b or c\n)")).toBe(
      "select id, case when b then ')' end\nfrom a\nwhere (b or c)",
    );
  });

  it("has a line for each part of a clause that does not fit", () => {
    const columns = Array.from({ length: 30 }, (_, index) => `column_${index}`);

    const lines = readableSql(`select ${columns.join(", ")} from a`).split("\n");

    expect(lines).toEqual(["select", ...columns.map((name, index) => `  ${name}${index < 29 ? "," : ""}`), "from a"]);
  });

  it("keeps what a line opens that closes another one", () => {
    const columns = Array.from({ length: 10 }, (_, index) => `column_number_${index}`).join(", ");

    const text = readableSql(`select 1 from a where b and coalesce(${columns}) = (select max(c) from d)`);

    expect(text.replace(/\s+/g, " ")).toContain(") = (select max(c) from d)");
  });

  it("keeps a comment on a line of its own", () => {
    expect(readableSql("select (\n-- why\nselect 1)")).toMatch(/^ *-- why$/m);
  });
});
