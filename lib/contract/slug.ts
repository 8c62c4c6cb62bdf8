import anyAscii from "any-ascii";

export const slugLengthMax = 100;

const chinese = /\p{Script=Han}/gu;

/**
 * The slug of a record before the database makes it unique: in Latin letters, digits and hyphens.
 * @param names the first one counts that can be read as a whole, else the first one with a readable part
 * @param fallback for names of which nothing can be read
 * @param disambiguation stands behind the name
 */
export function slugOf(names: readonly string[], fallback: string, disambiguation = ""): string {
  const readable = names.filter((name) => asciiOf(name) !== "");
  const name = readable.find((each) => each.search(chinese) < 0) ?? readable[0];
  return `${name === undefined ? fallback : asciiOf(name)}-${asciiOf(disambiguation)}`
    .slice(0, slugLengthMax)
    .replace(/-$/, "");
}

/**
 * Chinese characters are left out: each has many readings, in several languages. Serbian Cyrillic has an official Latin
 * letter for each of its own; any-ascii takes Ђ apart instead. The point of the Catalan l·l is within a word.
 */
const asciiOf = (text: string): string =>
  anyAscii(
    text
      .replaceAll(/(?<=\d)\p{No}/gu, " $&")
      .normalize("NFKC")
      .replaceAll(/ \p{M}/gu, "'")
      .replaceAll(chinese, " ")
      .replaceAll(/(?<=l)[·•‧](?=l)/gi, "")
      .replaceAll("Ђ", "Đ")
      .replaceAll("ђ", "đ")
      .replaceAll("&", " and "),
  )
    .toLowerCase()
    .replaceAll(/['`]/g, "")
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
