import { describe, expect, it } from "vitest";
import type { ReadResponse } from "./site.ts";
import { openWitness } from "./witness.ts";

const [old, other] = ["old", "new"].map((text) => ({ status: 200, text })) as [ReadResponse, ReadResponse];

/** A witness to whom the origin said `old` until 1,000, and `new` since. */
function afterChange() {
  const witness = openWitness();
  witness.hear("/a", old, 900, 950);
  witness.hear("/a", other, 1_000, 1_050);
  return witness;
}

describe("A witness", () => {
  it("finds a response late since something else was heard of its URL", () => {
    const witness = afterChange();
    witness.read("/a", old, 6_100, 6_150);
    witness.read("/a", other, 6_100, 6_150);
    witness.read("/b", old, 6_100, 6_150);
    expect(witness.late()).toEqual([{ url: "/a", readAt: 6_100, milliseconds: 5_050 }]);
  });

  it("finds no response late that was heard again, or never contradicted", () => {
    const witness = afterChange();
    witness.hear("/a", old, 2_000, 2_050);
    witness.read("/a", old, 6_100, 6_150);
    expect(witness.late()).toEqual([]);
  });

  it("counts from the end of excuses, one after another, for all URLs or for one", () => {
    const witness = afterChange();
    witness.excuse({ from: 500, to: 2_000 });
    witness.excuse({ from: 1_900, to: 3_000, url: "/a" });
    witness.excuse({ from: 2_900, to: 9_000, url: "/b" });
    witness.read("/a", old, 8_500, 8_550);
    expect(witness.late()).toMatchObject([{ milliseconds: 5_500 }]);
  });
});
