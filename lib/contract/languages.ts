/*
 * Languages (README.md, "Languages"): a record has the English name of one. A text names it by a BCP 47 tag, by a code of
 * three letters (ISO 639-2 and 639-3), or by its name in English or in itself. ICU, which Node.js contains, knows tags and
 * names; its tables take longer to load than the rest of a function, so only what is not plain English loads them.
 */

/** Languages whose names ICU has in English. */
const codes =
  "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en " +
  "eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja " +
  "jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb " +
  "nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq " +
  "sr ss st su sv sw ta te tg th ti tk tn to tr ts tt ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu ace ach ada " +
  "ady aeb afh agq ain akk akz ale aln alt ang ann anp arc arn aro arp arq ars arw ary arz asa ase ast atj avk awa " +
  "bal ban bar bas bax bbc bbj bej bem bew bez bfd bfq bgc bgn bho bik bin bjn bkm bla blo blt bpy bqi bra brh brx " +
  "bss bua bug bum byn byv cad car cay cch ccp ceb cgg chb chg chk chm chn cho chp chr chy cic ckb clc cop cps crg " +
  "crh crj crk crl crm crr crs csb csw dak dar dav del den dgr din dje doi dsb dtp dua dum dyo dyu dzg ebu efi egl " +
  "egy eka elx enm esu ewo ext fan fil fit fon frc frm fro frp frr frs fur gaa gag gan gay gba gbz gez gil glk gmh " +
  "goh gon gor got grb grc gsw guc gur guz gwi hai hak haw hax hif hil hit hmn hnj hsb hsn hup hur iba ibb ikt ilo " +
  "inh izh jam jbo jgo jmc jpr jrb jut kaa kab kac kaj kam kaw kbd kbl kcg kde kea kek ken kfo kgp kha kho khq khw " +
  "kiu kkj kln kmb koi kok kos kpe krc kri krj krl kru ksb ksf ksh kum kut kwk kxv lad lag lah lam lez lfn lij lil " +
  "liv lkt lmo lol lou loz lrc lsm ltg lua lui lun luo lus luy lzh lzz mad maf mag mai mak man mas mde mdf mdr men " +
  "mer mfe mga mgh mgo mic min mnc mni moe moh mos mrj mua mul mus mwl mwr mwv mye myv mzn nan nap naq nds new nia " +
  "niu njo nmg nnh nog non nov nqo nso nus nwc nym nyn nyo nzi ojb ojc ojs ojw oka osa ota pag pal pam pap pau pcd " +
  "pcm pdc pdt peo pfl phn pis pms pnt pon pqm prg pro quc qug raj rap rar rgn rhg rif rof rom rtm rue rug rup rwk " +
  "sad sah sam saq sas sat saz sba sbp scn sco sdc sdh see seh sei sel ses sga sgs shi shn shu sid slh sli sly sma " +
  "smj smn sms snk sog srn srr ssy stq str suk sus sux swb syc syr szl tce tcy tem teo ter tet tgx tht tig tiv tkl " +
  "tkr tlh tli tly tmh tog tok tpi tru trv trw tsd tsi ttm ttt tum tvl twq tyv tzm udm uga umb vai vec vep vls vmf " +
  "vmw vot vro vun wae wal war was wbp wuu xal xmf xnr xog yao yap yav ybb yrl yue zap zbl zea zen zgh zun zxx zza";

/** Kinds of a language that have a name of their own, as Brazilian Portuguese. */
const varieties =
  "ar-001 de-AT de-CH en-AU en-CA en-GB en-US es-419 es-ES es-MX fa-AF fr-CA fr-CH nl-BE pt-BR pt-PT ro-MD sr-Latn sr-ME " +
  "sw-CD zh-Hans zh-Hant";

/** Macrolanguages of ISO 639-3, each in front of the languages of it that ICU tells apart. */
const macrolanguages =
  "ak fat tw|ar aeb arq ars ary arz shu|chm mrj|cr crj crk crl crm csw|doi xnr|et vro|hmn hnj|iu ikt|ku ckb sdh|lv ltg|" +
  "ms id min|no nb nn|oj ojb ojc ojs ojw|qu qug|sq aln|zh gan hak hsn lzh nan wuu yue";

/** Scripts of ISO 15924 that have a name in English. */
const scripts =
  "Adlm Afak Aghb Arab Aran Armi Armn Avst Bali Bamu Bass Batk Beng Berf Bhks Blis Bopo Brah Brai Bugi Buhd Cakm " +
  "Cans Cari Cher Chrs Cirt Copt Cpmn Cprt Cyrl Cyrs Deva Diak Dogr Dsrt Dupl Egyd Egyh Egyp Elba Elym Ethi Gara " +
  "Geok Geor Glag Gong Gonm Goth Gran Grek Gujr Gukh Guru Hanb Hang Hani Hano Hans Hant Hatr Hebr Hira Hluw Hmng " +
  "Hmnp Hrkt Hung Inds Ital Java Jpan Jurc Kali Kana Khar Khmr Khoj Kits Knda Kore Kpel Krai Kthi Lana Laoo Latf " +
  "Latg Latn Lepc Limb Lina Linb Lisu Lyci Lydi Mahj Maka Mand Mani Marc Maya Medf Mend Merc Mero Mlym Mong Mroo " +
  "Mtei Mult Mymr Nagm Nand Narb Nbat Nkgb Nkoo Nshu Ogam Olck Onao Orkh Orya Osge Osma Ougr Palm Pauc Perm Phag " +
  "Phli Phlp Phlv Phnx Plrd Prti Rjng Rohg Roro Runr Samr Sara Sarb Saur Sgnw Shaw Shrd Sidd Sidt Sind Sinh Sogd " +
  "Sogo Sora Soyo Sund Sunu Sylo Syrc Syre Syrj Syrn Tagb Takr Tale Talu Taml Tang Tavt Tayo Telu Teng Tfng Tglg " +
  "Thaa Tibt Tirh Tnsa Todr Tols Tutg Ugar Vaii Visp Vith Wara Wcho Wole Xpeo Xsux Yezi Yiii Zanb Zinh Zmth Zsye " +
  "Zsym Zxxx Zyyy";

/** Parts of the world by their numbers of UN M.49. */
const continents =
  "001 002 003 005 009 011 013 014 015 017 018 019 021 029 030 034 035 039 053 054 057 061 142 143 145 150 151 154 155 202 419";

/** Other names of languages: English ones of ISO 639 and of old, and what speakers call them, where CLDR has another one. */
const otherNames = `
aa Afaraf; ab Abkhaz|аҧсуа бызшәа; ak Fanti|Fante; an aragonés; ay aymar aru; az Azeri|azərbaycan dili; ba башҡорт теле;
be Belarusan|беларуская мова; bg български език; bm bamanankan; bn Bengali; bo བོད་ཡིག; bs bosanski jezik;
ca Valencian|valencià; ce нохчийн мотт; ch Chamoru; co corsu; cs český jazyk;
cu Church Slavonic|Old Church Slavonic|Old Slavonic; cv чӑваш чӗлхи; dv Dhivehi|Maldivian|ދިވެހި;
el Modern Greek|ελληνική γλώσσα; es Castilian|castellano|lengua española; fa Farsi|Iranian Persian|زبان فارسی;
fa-AF Afghan Persian; ff Fulah|Fulfulde; fj vosa Vakaviti; ga Irish Gaelic; gd Gaelic|Scots Gaelic; gn Avañe'ẽ;
hi हिंदी; hr hrvatski jezik; ht Haitian|Kreyòl ayisyen; hz Otjiherero;
ia Interlingua (International Auxiliary Language Association); id bahasa Indonesia; ie Occidental; ig Asụsụ Igbo;
ii Nuosu; iu ᐃᓄᒃᑎᑐᑦ; ja Nihongo; jv basa Jawa; ka ქართული ენა; kg Kikongo; kj Kwanyama; kl Greenlandic;
km Cambodian|Central Khmer|ភាសាខ្មែរ|ខេមរភាសា; ku Kurdî|Kurmanji|Kurmancî|Northern Kurdish|کوردی; kv коми кыв;
ky Kirghiz|кыргыз тили; la lingua Latina|latine; lb Letzeburgesch; li Limburgan|Limburger|Limburgs; lo Laotian|ພາສາລາວ;
lt lietuvių kalba; lu Kiluba; lv latviešu valoda; mg fiteny malagasy; mh Kajin M̧ajeļ; mi te reo Māori;
mk македонски јазик; mn монгол хэл; ms bahasa Melayu|bahasa Malaysia|Malaysian;
my Myanmar|Myanmar (Burmese)|မြန်မာဘာသာ|မြန်မာစာ|ဗမာစာ; nb Bokmål|bokmål norsk; nd Northern Ndebele; ng Owambo;
nl-BE Vlaams; nn Nynorsk; nr Southern Ndebele; nv Navaho|Diné bizaad; ny Chewa|Chichewa; oj Ojibwe;
om Afaan Oromoo|Afaan Oromo; or Oriya; os Ossetian|ирон æвзаг; pa Panjabi; ps Pushto;
pt-BR português do Brasil|português brasileiro; qu Runa Simi; rn Kirundi; ro limba română; ro-MD Moldovan|молдовеняскэ;
ru русский язык; sa संस्कृतम्; sg yângâ tî sängö; si Sinhalese; sk slovenský jazyk; sl Slovene|slovenski jezik;
sm gagana fa'a Samoa; so Soomaaliga; sr српски језик; sr-Latn Serbo-Croatian|srpskohrvatski|srpski|srpski jezik;
ss SiSwati; st Sotho; tg забони тоҷикӣ; th ภาษาไทย; tk Türkmençe; to Tonga (Tonga Islands)|faka Tonga; ts Xitsonga;
tt татарча|татар теле; ty Reo Tahiti; ug Uighur|ئۇيغۇرچە; uk українська мова; uz ўзбек|ўзбекча|oʻzbekcha|oʻzbek tili;
ve Tshivenḓa; wa walon; yi יידיש|אידיש; za Chuang|Saɯ cueŋƅ; zh Mandarin|Mandarin Chinese|汉语|漢語|普通话|普通話|国语|國語|华语|華語;
zh-Hans 简体|简体字; zh-Hant 繁體|繁体中文|正體中文; ace Achinese; ady Adygei; ang Anglo-Saxon; arc Official Aramaic|Imperial Aramaic;
arn Mapuche|Mapudungun; ast Bable|Leonese|Asturleonese; bej Bedawiyet; bin Edo; byn Bilin; car Carib; chp Dene Suline;
ckb Sorani|سۆرانی; crh Crimean Turkish; egy Egyptian; fil Tagalog|Pilipino|Wikang Tagalog;
gsw Alemannic|Alsatian|Schweizerdeutsch|Schwyzerdütsch; hmn Mong; kaa Karakalpak; kac Jingpho; lah Lahnda; lus Lushai;
mic Mi'kmaq|Micmac; mul Multilingual; mus Creek; naq Khoekhoe; nds Low Saxon|Plattdeutsch|Platt; new Nepal Bhasa|Newar;
nso Pedi|Sepedi; nwc Classical Nepal Bhasa|Old Newari; pam Kapampangan; pro Old Occitan; rup Arumanian|Macedo-Romanian;
sog Sogdian; tkl Tokelauan; tlh tlhIngan Hol; wal Wolaitta; xal Oirat; yue Yue|Yue Chinese|粤语|廣東話|广东话;
zbl Blissymbolics|Bliss; zxx Not applicable; zza Dimili|Dimli|Kirdki|Zazaki`;

/** The English name of the language that a text names; a name that is not known stays as it is. */
export function language(text: string): string {
  if (isEnglish(text)) return english;
  const tag = tagOf(text);
  return tag === undefined ? text : nameOf(tag);
}

/** The BCP 47 tag of a language by its name, as for the attribute `lang` of HTML; empty if it is not known. */
export const languageCode = (name: string): string => (isEnglish(name) ? "en" : (tagOf(name) ?? ""));

/**
 * The languages of which a reader wants the first that there is: the one that the text names, the same in its script, the
 * language alone, its macrolanguage (Norwegian of Nynorsk), what is usually meant by that (Brazilian Portuguese by
 * Portuguese, Bokmål by Norwegian), and English.
 */
export function languagesFor(text: string): readonly string[] {
  const fallback = [english, "American English"];
  if (isEnglish(text)) return fallback;
  const tag = tagOf(text);
  if (tag === undefined) return [text, ...fallback];
  const { language, script } = new Intl.Locale(maximal(tag));
  const wider = [language, ...macrolanguagesOf(language)];
  const inScript = (each: string) => {
    const written = script ? `${each}-${script}` : each;
    return maximal(written) === maximal(each) ? [each] : [shortest(written), each];
  };
  const chosen = [tag, ...wider.flatMap(inScript), ...wider.flatMap(usualOf)];
  return [...new Set([...chosen.map(nameOf), ...fallback])];
}

const english = "English";
const isEnglish = (text: string) => text.toLowerCase() === "english";

let names: Intl.DisplayNames | undefined;
let tags: ReadonlyMap<string, string> | undefined;
let parts: ReadonlyMap<string, string> | undefined;

function nameOf(tag: string): string {
  names ??= new Intl.DisplayNames("en", { type: "language", fallback: "none" });
  return names.of(tag) ?? "";
}

/** With the script and the region that a tag leaves out. */
const maximal = (tag: string) => new Intl.Locale(tag).maximize().baseName;

const varietiesOf = (language: string) => varieties.split(" ").filter((variety) => variety.startsWith(`${language}-`));

const macrolanguagesOf = (language: string) =>
  macrolanguages.split("|").flatMap((group) => {
    const [macrolanguage = "", ...languages] = group.split(" ");
    return languages.includes(language) ? [macrolanguage] : [];
  });

/** What is usually meant by a language. Who reads Norwegian reads both kinds of it. */
const usualOf = (language: string): readonly string[] =>
  language === "no" ? ["nb", "nn"] : varietiesOf(language).filter((variety) => maximal(variety) === maximal(language));

/** The tag without what goes without saying: `de` for de-DE, `zh-Hant` for zh-Hant-TW. A variety keeps its name. */
function shortest(tag: string): string {
  const { language, script, region } = new Intl.Locale(tag);
  if (!script && !region) return language;
  const whole = [language, script, region].filter(Boolean).join("-");
  const max = new Intl.Locale(whole).maximize();
  const shorter = [max.script, max.region].flatMap((part) => (part ? [`${language}-${part}`] : []));
  return [...varietiesOf(language), language, ...shorter].find((each) => maximal(each) === max.baseName) ?? whole;
}

function tagOf(text: string): string | undefined {
  // Ga, Kom and Oji-Cree are names of languages, and tags of others.
  const tag = /^[A-Z][a-z]/.test(text) ? undefined : tagIn(text);
  if (tag !== undefined) return tag;
  tags ??= tagsByName();
  return tags.get(keyOf(text)) ?? tags.get(keyOf(inverted(text))) ?? tagInParts(text, tags) ?? tagIn(text);
}

/** The tag that the text is, with the separators of POSIX, too, and with extended languages as those of RFC 5646, 2.2.2. */
function tagIn(text: string): string | undefined {
  if (!/^[a-z]{2,3}(?:[-_][a-z\d]{1,8})*$/i.test(text)) return undefined;
  try {
    const tag = text.replaceAll("_", "-").replace(/^[a-z]{2,3}-(?=[a-z]{3}(?:-|$))/i, "");
    const { language, baseName } = new Intl.Locale(tag);
    return [shortest(baseName), language].find((each) => nameOf(each) !== "");
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Names compare without case and accents, and whatever their apostrophes. */
const keyOf = (name: string) =>
  name
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .replace(/[`\u02b9-\u02bf\u2018\u2019]/g, "'")
    .toLowerCase();

/** `Modern Greek` of `Greek, Modern (1453-)`, as ISO 639-2 and libraries write. */
const inverted = (name: string) => name.replace(/^(\S+), (.+?)(?: \(.*\))?$/, "$2 $1");

/** CLDR's English names are last, so they win: one language may be called in itself as another one is in English. */
function tagsByName(): ReadonlyMap<string, string> {
  const known = `${codes} ${varieties}`.split(" ");
  const others = otherNames.split(/;\s/).flatMap((line) => {
    const [, tag = "", texts = ""] = /^\s*(\S+) (.+)$/.exec(line) ?? [];
    return texts.split("|").map((text) => [text, tag] as const);
  });
  const inItself = Intl.DisplayNames.supportedLocalesOf(known).map((tag) => {
    const name = new Intl.DisplayNames(tag, { type: "language" }).of(tag);
    return [name ?? tag, tag] as const;
  });
  const inEnglish = known.map((tag) => [nameOf(tag), tag] as const);
  return new Map(
    [...others, ...otherNamesOfVarieties(), ...inItself, ...inEnglish].map(([name, tag]) => [keyOf(name), tag]),
  );
}

/** Those of British English are English (United Kingdom), English (UK) and UK English; likewise in the language itself. */
const otherNamesOfVarieties = () =>
  varieties.split(" ").flatMap((tag) =>
    ["en", tag].flatMap((reader) =>
      (["long", "short"] as const).flatMap((style) =>
        (["standard", "dialect"] as const).map((languageDisplay) => {
          const displayed = new Intl.DisplayNames(reader, { type: "language", style, languageDisplay });
          return [displayed.of(tag) ?? tag, tag] as const;
        }),
      ),
    ),
  );

/** The tag of a name such as `Uzbek (Cyrillic)` or `Chinese (Traditional, Macao SAR China)`. */
function tagInParts(text: string, byName: ReadonlyMap<string, string>): string | undefined {
  const [, language = "", inParentheses = ""] = /^(.+) \((.+)\)$/.exec(text) ?? [];
  const tag = byName.get(keyOf(language));
  if (tag === undefined) return undefined;
  parts ??= partsByName();
  const known = inParentheses.split(", ").map((part) => parts?.get(keyOf(part)));
  return known.includes(undefined) ? undefined : tagIn([tag, ...known].join("-"));
}

/** Scripts and regions by what they are called behind the name of a language. */
function partsByName(): ReadonlyMap<string, string> {
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
  const regions = letters.flatMap((first) => letters.map((second) => first + second));
  const all = [...scripts.split(" "), ...regions, ...continents.split(" ")];
  return new Map(all.reverse().map((part) => [keyOf(nameOf(`ja-${part}`).slice("Japanese (".length, -1)), part]));
}
