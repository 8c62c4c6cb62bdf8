import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { language, languageCode, languagesFor } from "../../lib/contract/languages.ts";

describe("A language", () => {
  it.each([
    { name: "English", code: "en", texts: ["English", "english", "en", "EN", "eng"] },
    {
      name: "German",
      code: "de",
      texts: ["de", "de-DE", "de_DE", "DE", "ger", "deu", "GERMAN", "Deutsch", "deutsch", "de-u-co-phonebk"],
    },
    {
      name: "Austrian German",
      code: "de-AT",
      texts: ["de-AT", "de_at", "German (Austria)", "Österreichisches Deutsch"],
    },
    { name: "French", code: "fr", texts: ["fre", "fra", "fr-FR", "français", "Francais"] },
    { name: "Japanese", code: "ja", texts: ["jpn", "ja-JP", "ja_JP", "日本語"] },
    { name: "Czech", code: "cs", texts: ["cze", "ces", "čeština"] },
    { name: "Chinese", code: "zh", texts: ["zh", "chi", "zho", "cmn", "中文"] },
    {
      name: "Traditional Chinese",
      code: "zh-Hant",
      texts: ["zh-Hant-TW", "zh-TW", "zh_Hant", "Chinese (Traditional)", "繁體中文"],
    },
    { name: "Simplified Chinese", code: "zh-Hans", texts: ["zh-CN", "zh-Hans-CN", "zh-cmn-Hans", "简体中文"] },
    {
      name: "Chinese (Hong Kong SAR China)",
      code: "zh-HK",
      texts: ["zh-HK", "zh-Hant-HK", "chinese (traditional, hong kong sar china)"],
    },
    {
      name: "Brazilian Portuguese",
      code: "pt-BR",
      texts: ["pt-BR", "por-BR", "Portuguese (Brazil)", "português (Brasil)"],
    },
    { name: "Serbian (Latin)", code: "sr-Latn", texts: ["sr-Latn", "srp_Latn_RS", "sr-latn", "serbian (latin)"] },
    { name: "Hebrew", code: "he", texts: ["iw", "heb", "עברית"] },
    { name: "Cantonese", code: "yue", texts: ["yue", "zh-yue", "粤语"] },
    { name: "Ga", code: "gaa", texts: ["gaa", "Ga"] },
    { name: "Oji-Cree", code: "ojs", texts: ["ojs", "Oji-Cree"] },
    { name: "Indonesian", code: "id", texts: ["Bahasa Indonesia", "bahasa indonesia", "ind", "in"] },
    { name: "Malay", code: "ms", texts: ["Bahasa Melayu", "may", "msa"] },
    { name: "Persian", code: "fa", texts: ["Farsi", "per", "fas", "فارسی"] },
    { name: "Bangla", code: "bn", texts: ["Bengali", "ben", "বাংলা"] },
    { name: "Chinese", code: "zh", texts: ["Mandarin Chinese", "汉语", "國語"] },
    { name: "Khmer", code: "km", texts: ["ភាសាខ្មែរ", "Central Khmer"] },
    { name: "Greek", code: "el", texts: ["Modern Greek", "Greek, Modern (1453-)", "gre", "ell"] },
    { name: "Low German", code: "nds", texts: ["German, Low", "Saxon, Low", "Plattdeutsch"] },
    {
      name: "American English",
      code: "en-US",
      texts: ["en-US", "English (US)", "English (United States)", "US English"],
    },
    { name: "Swiss High German", code: "de-CH", texts: ["de-CH", "Deutsch (Schweiz)", "German (Switzerland)"] },
    { name: "N’Ko", code: "nqo", texts: ["N'Ko", "Nʼko"] },
    { name: "Japanese (Hiragana)", code: "ja-Hira", texts: ["ja-Hira", "jpn_Hira_JP", "Japanese (Hiragana)"] },
    { name: "Irish (Gaelic Latin)", code: "ga-Latg", texts: ["ga-Latg", "gle-Latg-IE"] },
    { name: "English (Africa)", code: "en-002", texts: ["en-002"] },
  ])("is stored as $name, with the tag $code", ({ name, code, texts }) => {
    for (const text of texts) {
      expect(language(text), text).toBe(name);
      expect(languageCode(language(text)), text).toBe(code);
    }
  });

  it.each(["Klingonese", "und", "x-private", "de--DE"])("stays %s, without a tag", (text) => {
    expect(language(text)).toBe(text);
    expect(languageCode(text)).toBe("");
  });

  it("has one name, whatever tag it comes from, and a tag of the same name", () => {
    const part = (length: number) =>
      fc.string({ unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz"), minLength: length, maxLength: length });
    const known = fc.constantFrom("de", "sr", "zh", "tlh", "mul", "en", "pt", "uz", "gaa", "crr", "ja");
    const script = fc.option(fc.constantFrom("Latn", "Cyrl", "Arab", "Hans", "Hant", "Jpan"), { nil: "" });
    const region = fc.option(fc.oneof(part(2), fc.constantFrom("001", "419", "BR", "US", "HK", "ME")), { nil: "" });
    fc.assert(
      fc.property(fc.oneof(known, part(2), part(3)), script, region, fc.constantFrom("-", "_"), (...parts) => {
        const [first, second, third, separator] = parts;
        const name = language([first, second, third].filter(Boolean).join(separator));
        const code = languageCode(name);
        expect(language(name)).toBe(name);
        if (code !== "") expect([language(code), languageCode(language(code))]).toEqual([name, code]);
      }),
    );
  });

  it.each([
    ["German", "German"],
    ["de-AT", "Austrian German, German"],
    ["zh-HK", "Chinese (Hong Kong SAR China), Traditional Chinese, Chinese, Simplified Chinese"],
    ["zh", "Chinese, Simplified Chinese"],
    ["pt-PT", "European Portuguese, Portuguese, Brazilian Portuguese"],
    ["sr-Latn-RS", "Serbian (Latin), Serbian"],
    ["nn", "Norwegian Nynorsk, Norwegian, Norwegian Bokmål"],
    ["nb-NO", "Norwegian Bokmål, Norwegian, Norwegian Nynorsk"],
    ["no", "Norwegian, Norwegian Bokmål, Norwegian Nynorsk"],
    ["yue", "Cantonese, Traditional Chinese, Chinese, Simplified Chinese"],
    ["arz", "Egyptian Arabic, Arabic"],
    ["ckb", "Central Kurdish, Kurdish (Arabic), Kurdish"],
    ["Klingonese", "Klingonese"],
  ])("%s is read as the first there is of %s, and English", (text, names) => {
    expect(languagesFor(text).join(", ")).toBe(`${names}, English, American English`);
  });
});
