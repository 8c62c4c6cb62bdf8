import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readCatalogue } from "../../infra/local/demo/load.ts";
import { slugLengthMax, slugOf } from "../../lib/contract/slug.ts";
import { storedLine } from "../../lib/operators/transfer/catalogue-lines.ts";

const slugs = (...names: readonly string[]) => names.map((name) => slugOf([name], "contributor"));

const letters = (first: number, last: number) =>
  fc.string({
    minLength: 1,
    maxLength: 30,
    unit: fc.integer({ min: first, max: last }).map((code) => String.fromCodePoint(code)),
  });

/** Names of scripts whose letters can be read. */
const readable = fc.oneof(
  letters(0x61, 0x7a),
  letters(0xdf, 0x17f),
  letters(0x3b1, 0x3c9),
  letters(0x430, 0x449),
  letters(0x561, 0x586),
  letters(0x5d1, 0x5e1),
  letters(0x62a, 0x638),
  letters(0x915, 0x939),
  letters(0xe01, 0xe2e),
  letters(0x10d0, 0x10f0),
  letters(0x3041, 0x3096),
  letters(0x30a1, 0x30fa),
  letters(0xac00, 0xd7a3),
);

const chinese = fc.oneof(letters(0x3400, 0x4dbf), letters(0x4e00, 0x9fff), letters(0x20000, 0x2a6df));

describe("A slug", () => {
  it.each([
    {
      what: "keeps a word together",
      names: ["Scott McCloud", "McFarlane", "1Q84"],
      expected: ["scott-mccloud", "mcfarlane", "1q84"],
    },
    {
      what: "keeps a Catalan word together at its double l",
      names: ["Marcel·lí", "Marceŀlí", "GAL·LA", "Col•lecció", "Al · Lu"],
      expected: ["marcelli", "marcelli", "galla", "colleccio", "al-lu"],
    },
    {
      what: "leaves out apostrophes of any kind",
      names: ["O'Malley", "O’Malley", "O`Malley", "O´Malley", "Oʻmalley", "O＇Malley", "L'Ouvre", "Жюль Верн"],
      expected: [...Array.from({ length: 6 }, () => "omalley"), "louvre", "zhyul-vern"],
    },
    {
      what: "has Latin letters for those of any alphabet",
      names: [
        "Æsop",
        "Þórbergur Þórðarson",
        "Ivo Andrić",
        "Иво Андрић",
        "Ђорђе",
        "Đorđe",
        "Straße",
        "Андрей",
        "Ἀριστοτέλης",
      ],
      expected: [
        "aesop",
        "thorbergur-thordarson",
        "ivo-andric",
        "ivo-andric",
        "dorde",
        "dorde",
        "strasse",
        "andrey",
        "aristotelis",
      ],
    },
    {
      what: "has Latin letters for syllables and consonants of any script",
      names: ["שלום", "أحمد شوقي", "สมชาย", "김기덕", "नेपाली", "てづか おさむ", "テヅカ・オサム", "ﾃﾂﾞｶ"],
      expected: ["slvm", "hmd-shwqy", "smchay", "gimgideog", "nepali", "tezuka-osamu", "tezuka-osamu", "tezuka"],
    },
    {
      what: "has the letters of ligatures, of wide forms and of numbers in circles",
      names: ["ﬁne ﬂower", "Ｔｅｚｕｋａ", "Ⅻ ①"],
      expected: ["fine-flower", "tezuka", "xii-1"],
    },
    {
      what: "has words for signs that people read",
      names: ["Simon & Schuster", "The 13½ Lives"],
      expected: ["simon-and-schuster", "the-13-1-2-lives"],
    },
    {
      what: "leaves out Chinese characters",
      names: ["手塚 Osamu", "山田たろう", "々〇一"],
      expected: ["osamu", "tarou", "contributor"],
    },
    {
      what: "is the fallback if nothing can be read",
      names: ["手塚治虫", "株式会社", "𠮷", "!?", "㈱"],
      expected: Array.from({ length: 5 }, () => "contributor"),
    },
  ])("$what", ({ names, expected }) => {
    expect(slugs(...names)).toEqual(expected);
  });

  it("is made from the first name that can be read as a whole, else from a readable part", () => {
    expect(slugOf(["手塚治虫", "Osamu Tezuka", "God of Manga"], "contributor")).toBe("osamu-tezuka");
    expect(slugOf(["鉄腕アトム", "Astro Boy"], "series")).toBe("astro-boy");
    expect(slugOf(["鉄腕アトム", "手塚"], "series")).toBe("atomu");
    expect(slugOf(["Astro", "Boy"], "series")).toBe("astro");
  });

  it("of a line of an import is made from a Latin alias if the name cannot be read", () => {
    const descriptions = { client: null, descriptions: [] };
    const made = (fields: object) =>
      storedLine({
        kind: "contributor",
        externalId: "c",
        first_name: "手塚",
        last_name: "治虫",
        ...descriptions,
        ...fields,
      }).made;

    expect(made({})).toBe("contributor");
    expect(made({ aliases: ["手冢治虫", "Тэдзука", "Osamu Tezuka", "Tezuka"] })).toBe("osamu-tezuka");
  });

  it("has the disambiguation behind the name, whatever can be read", () => {
    expect(slugOf(["John Smith"], "contributor", "poet, born 1950")).toBe("john-smith-poet-born-1950");
    expect(slugOf(["手塚"], "contributor", "painter")).toBe("contributor-painter");
    expect(slugOf(["John Smith"], "contributor", "詩人")).toBe("john-smith");
  });

  it("has letters, digits and single hyphens between them, and at most 100 of them, whatever the name", () => {
    const text = fc.oneof(fc.string({ unit: "binary", maxLength: 150 }), readable, chinese);
    fc.assert(
      fc.property(text, text, text, (name, alias, disambiguation) => {
        const slug = slugOf([name, alias], "contributor", disambiguation);
        expect(slug).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
        expect(slug.length).toBeLessThanOrEqual(slugLengthMax);
      }),
      { numRuns: 2_000 },
    );
  });

  it("says something of a name in any script but Chinese", () => {
    fc.assert(
      fc.property(readable, chinese, (name, unreadable) => {
        expect(slugOf([name], "?")).not.toBe("?");
        expect(slugOf([unreadable], "?")).toBe("?");
      }),
      { numRuns: 2_000 },
    );
  });

  it("of each demo record is the one that is made from its name, or has a number behind it", async () => {
    const records = (await readCatalogue()).flatMap((line) => ("slug" in line && line.slug ? [line] : []));
    expect(records.length).toBeGreaterThan(200);
    for (const line of records) {
      expect(line.slug?.replace(/-\d$/, "")).toBe(storedLine(line).made?.replace(/-\d$/, ""));
    }
  });
});
