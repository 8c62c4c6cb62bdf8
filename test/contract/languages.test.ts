import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { language, languageCode, languagesFor } from "../../lib/contract/languages.ts";

describe("A language", () => {
  it.each([
    ["English", "en", ["English", "english", "en", "EN", "eng"]],
    ["German", "de", ["de", "de-DE", "de_DE", "DE", "ger", "deu", "GERMAN", "Deutsch", "deutsch", "de-u-co-phonebk"]],
    ["Austrian German", "de-AT", ["de-AT", "de_at", "German (Austria)", "Österreichisches Deutsch"]],
    ["French", "fr", ["fre", "fra", "fr-FR", "français", "Francais"]],
    ["Japanese", "ja", ["jpn", "ja-JP", "ja_JP", "日本語"]],
    ["Czech", "cs", ["cze", "ces", "čeština"]],
    ["Chinese", "zh", ["zh", "chi", "zho", "cmn", "中文"]],
    ["Traditional Chinese", "zh-Hant", ["zh-Hant-TW", "zh-TW", "zh_Hant", "Chinese (Traditional)", "繁體中文"]],
    ["Simplified Chinese", "zh-Hans", ["zh-CN", "zh-Hans-CN", "zh-cmn-Hans", "简体中文"]],
    ["Chinese (Hong Kong SAR China)", "zh-HK", ["zh-HK", "zh-Hant-HK", "chinese (traditional, hong kong sar china)"]],
    ["Brazilian Portuguese", "pt-BR", ["pt-BR", "por-BR", "Portuguese (Brazil)", "português (Brasil)"]],
    ["Serbian (Latin)", "sr-Latn", ["sr-Latn", "srp_Latn_RS", "sr-latn", "serbian (latin)"]],
    ["Hebrew", "he", ["iw", "heb", "עברית"]],
    ["Cantonese", "yue", ["yue", "zh-yue"]],
    ["Ga", "gaa", ["gaa", "Ga"]],
    ["Oji-Cree", "ojs", ["ojs", "Oji-Cree"]],
    ["Indonesian", "id", ["Bahasa Indonesia", "bahasa indonesia", "ind", "in"]],
    ["Malay", "ms", ["Bahasa Melayu", "may", "msa"]],
    ["Persian", "fa", ["Farsi", "per", "fas", "فارسی"]],
    ["Bangla", "bn", ["Bengali", "ben", "বাংলা"]],
    ["Chinese", "zh", ["Mandarin Chinese", "汉语", "國語"]],
    ["Khmer", "km", ["ភាសាខ្មែរ", "Central Khmer"]],
    ["Greek", "el", ["Modern Greek", "Greek, Modern (1453-)", "gre", "ell"]],
    ["Low German", "nds", ["German, Low", "Saxon, Low", "Plattdeutsch"]],
    ["American English", "en-US", ["en-US", "English (US)", "English (United States)", "US English"]],
    ["Swiss High German", "de-CH", ["de-CH", "Deutsch (Schweiz)", "German (Switzerland)"]],
    ["N’Ko", "nqo", ["N'Ko", "Nʼko"]],
    ["Klingonese", "", ["Klingonese"]],
    ["und", "", ["und"]],
    ["x-private", "", ["x-private"]],
    ["de--DE", "", ["de--DE"]],
  ])("is stored as %s, with the tag '%s', by any of %o", (name, code, texts) => {
    for (const text of texts) expect([text, language(text), languageCode(language(text))]).toEqual([text, name, code]);
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
