import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

const keysOf = async (names: readonly string[]) =>
  (
    await stack.sql`
      select sort_key(name) as key from unnest(${names}::text[]) with ordinality as names (name, position) order by position
    `
  ).map(({ key }) => String(key));

/** The names in the order of their keys, shuffled before. */
async function sorted(names: readonly string[]): Promise<string[]> {
  const rows = await stack.sql`
    select name from unnest(${names.toReversed()}::text[]) as name order by sort_key(name) collate "C"
  `;
  return rows.map(({ name }) => name);
}

describe("Names are sorted", () => {
  it.each([
    ["by words, the last name before its longer neighbours", ["Le, Zara", "Le Guin, Ursula K.", "Lea, Al", "Lee, Ang"]],
    ["by numbers as numbers", ["Zz 2", "Zz 10", "Zz 100", "Zz Top"]],
    ["by numbers of any length, zeros in front aside", ["7", "008", "9", "10", "1984", `1${"0".repeat(200)}`]],
    ["by numbers in the digits of any script", ["भाग ३", "भाग २०", "ভাগ ২", "ভাগ ১০", "เล่ม ๙", "เล่ม ๑๐"]],
    ["without regard to signs in front", ["«Abe», Zoë", "Abel", "…Abf", "“Abg”"]],
    ["without regard to apostrophes, case and accents", ["O'Malley, A", "OMALLEY, B", "O’Malley, C", "Ómalley, D"]],
    ["with both kinds of kana together", ["てづか", "テヅカあ", "てづかい", "テヅカウ"]],
    ["with what begins with no letter in front", ["!!!", "13", "Aa", "Ac", "Æb", "Łz", "Ma"]],
  ])("%s", async (_, names) => {
    expect(await sorted(names)).toEqual(names);
  });

  it("under the letter with which their search key begins, or #", async () => {
    const letters = {
      Á: "A",
      æsop: "A",
      "“Weird Al” Yankovic": "W",
      ʻOkina: "O",
      ß: "S",
      Øre: "O",
      þórr: "T",
      ﬁ: "F",
      Ⅻ: "X",
      Ελύτης: "Ε",
      жук: "Ж",
      თამარ: "თ",
      שלום: "ש",
      أحمد: "ا",
      てづか: "テ",
      ｶﾅ: "カ",
      手塚: "手",
      김: "김",
      "13": "#",
      "½": "#",
      "!!!": "#",
      "🙂": "#",
      "٣": "#",
      "…": "#",
    };

    expect((await keysOf(Object.keys(letters))).map((key) => key.slice(0, 2).trim())).toEqual(Object.values(letters));
  });

  it("alike, whether a name is plain ASCII or not", async () => {
    const sign = fc.constantFrom(..." ,,''`-.&0019aBcZ\t");
    const names = fc.sample(fc.string({ unit: sign, maxLength: 20 }), 1_000);

    const plain = await keysOf(names.map((name) => `a${name}`));
    const accented = await keysOf(names.map((name) => `á${name}`));

    expect(accented).toEqual(plain);
  });

  it("by keys that the index has room for, whatever the name", async () => {
    const names = fc.sample(fc.string({ unit: "binary", minLength: 1, maxLength: 255 }), 2_000);
    const storable = names.map((name) => name.replaceAll("\0", "")).filter((name) => name.trim() !== "");

    for (const key of await keysOf([...storable, "\ufdfa".repeat(255), "1a".repeat(127)])) {
      expect([...key].length).toBeLessThanOrEqual(255);
      expect(key).toMatch(/^(#|\p{Alphabetic}) ./su);
    }
  });
});
