import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { queryOf } from "../../lib/contract/declare.ts";
import { useAdministrator } from "../support/callers.ts";
import { aContributor, aPublisher, aSeries, type Columns, type Entry } from "../support/catalogue.ts";
import { declarationOf } from "../support/contract.ts";
import { identifier } from "../support/database.ts";
import { invalidParameter } from "../support/envelope.ts";
import { aUser } from "../support/people.ts";
import { rounds } from "../support/rounds.ts";
import { useStack } from "../support/stack.ts";

/* What all lists have in common: orders, pages, searches by name, and the client's scope. */

const stack = useStack();
const administrator = useAdministrator(stack);

/** The administrator is the last of the users. */
const empty = async () => {
  for (const table of ["contributors", "publishers", "series"]) await stack.sql`delete from ${identifier(table)}`;
  await stack.sql`delete from users where id <> ${administrator.id}`;
  await stack.sql`update users set username = 'zzz'`;
};

type Shown = Readonly<Record<string, unknown> & { id: number }>;

/** The records of a list, and its numbers; parameters that it does not have are ignored. */
async function listOf(endpoint: string, query: Readonly<Record<string, string | number>> = {}, owner = { id: 0 }) {
  const { body } = await administrator.call(endpoint, { path: { id: owner.id }, query: { client: 1, ...query } });
  const { response } = declarationOf(endpoint);
  const { [("field" in response && response.field) || ""]: records = [], ...numbers } = body;
  return { ...(numbers as Readonly<Record<"max" | "from" | "to", number>>), records: records as readonly Shown[] };
}

type Add = (name: string, client_id: 1 | 2 | null, owner: Entry) => Promise<unknown>;

const addSeries =
  (relation: "by" | "from"): Add =>
  (name, client_id, owner) =>
    aSeries(stack.sql, { [relation]: owner }, { name, client_id });

const nobody = async (): Promise<Entry> => ({ id: 0, slug: "" });

/** Each with its order by time, and with the owner of its records. */
interface TestedList {
  readonly endpoint: string;
  readonly byTime: string;
  readonly add: Add;
  readonly makeOwner: () => Promise<Entry>;
}

const lists: readonly TestedList[] = [
  { endpoint: "admin-users/list", byTime: "registered", add: (name) => aUser(stack.sql, name), makeOwner: nobody },
  {
    endpoint: "admin-contributors/list",
    byTime: "",
    add: (first_name, client_id) => aContributor(stack.sql, { first_name, client_id, public: false }),
    makeOwner: nobody,
  },
  {
    endpoint: "contributors/list",
    byTime: "added",
    add: (first_name, client_id) => aContributor(stack.sql, { first_name, client_id }),
    makeOwner: nobody,
  },
  {
    endpoint: "publishers/list",
    byTime: "added",
    add: (name, client_id) => aPublisher(stack.sql, { name, client_id }),
    makeOwner: nobody,
  },
  {
    endpoint: "series/list",
    byTime: "added",
    add: (name, client_id) => aSeries(stack.sql, {}, { name, client_id }),
    makeOwner: nobody,
  },
  { endpoint: "contributor/works", byTime: "added", add: addSeries("by"), makeOwner: () => aContributor(stack.sql) },
  {
    endpoint: "publisher/publications",
    byTime: "added",
    add: addSeries("from"),
    makeOwner: () => aPublisher(stack.sql),
  },
];

describe.each(lists)("The list $endpoint", ({ endpoint, byTime, add, makeOwner }) => {
  const own = endpoint === "admin-users/list" ? 1 : 0;
  let owner: Entry;

  beforeEach(async () => {
    await empty();
    owner = await makeOwner();
  });

  const addAll = async (...names: readonly string[]) => {
    for (const each of names) await add(each, null, owner);
  };
  const get = async (query?: Readonly<Record<string, string | number>>) => {
    const { records, ...numbers } = await listOf(endpoint, query, owner);
    const names = records.map(({ username, first_name, name }) => username ?? first_name ?? name);
    return { ...numbers, names: names.filter((each) => each !== "zzz") };
  };
  const namesBy = async (order: string) => (await get({ order })).names;

  it("is ordered by name without regard to case and accents, or by time", async () => {
    const added = ["zoë", "Émile", "emma", "Øyvind", "adam", "Čapek"];
    await addAll(...added);
    const ascending = ["adam", "Čapek", "Émile", "emma", "Øyvind", "zoë"];

    expect((await get()).names).toEqual(endpoint === "publishers/list" ? added : ascending);
    expect(await namesBy("name-asc")).toEqual(ascending);
    expect(await namesBy("name-desc")).toEqual(ascending.toReversed());
    if (byTime) {
      expect(await namesBy(`${byTime}-asc`)).toEqual(added);
      expect(await namesBy(`${byTime}-desc`)).toEqual(added.toReversed());
    } else expect(await get({ order: "added-asc" })).toEqual({ names: [], ...invalidParameter("order") });
  });

  it("has the part that limit and offset select, with its numbers", async () => {
    await addAll("a", "b", "c", "d", "e");
    const [order, max, huge] = ["name-asc", 5 + own, Number.MAX_SAFE_INTEGER];

    expect(await get({ limit: 2, offset: 1, order })).toMatchObject({ names: ["b", "c"], max, from: 1, to: 3 });
    expect(await get({ limit: 0 })).toMatchObject({ names: [], max, from: 0, to: 0 });
    expect(await get({ offset: 9 })).toMatchObject({ names: [], max, from: max, to: max });
    expect(await get({ limit: huge, offset: huge })).toMatchObject({ names: [], max, from: max, to: max });
  });

  it("has pages that neither overlap nor have gaps where records have the same name but for accents", async () => {
    const names = Array.from({ length: 7 }, (_, n) => `same${"\u0301".repeat(n)}`);
    await addAll(...names);

    const pages = await Promise.all([0, 2, 4, 6].map((offset) => get({ limit: 2, offset, order: "name-asc" })));

    expect(pages.flatMap((page) => page.names)).toEqual(names);
  });

  it("has the part of what a search finds", async () => {
    await addAll("100% Dune", "100 percent dune", "Other");

    const part = await get({ search: "DUNE\u3000100", limit: 1, offset: 1, order: "name-asc" });

    expect(part).toMatchObject({ names: ["100% Dune"], max: 2, from: 1, to: 2 });
  });

  it("has everything where nothing is searched for", async () => {
    await addAll("100% Dune", "100 percent dune", "Other");

    for (const search of ["", " ", "´", "\u0301".repeat(255)]) expect((await get({ search })).max).toBe(3 + own);
  });

  it.runIf("client" in queryOf(declarationOf(endpoint)))(
    "has what all clients share and the client's own",
    async () => {
      await add("Shared", null, owner);
      await add("Own", 1, owner);
      await add("Foreign", 2, owner);

      expect(await get({ order: "name-asc" })).toMatchObject({ names: ["Own", "Shared"], max: 2 });
    },
  );
});

it("GET /publishers without a client has those of all", async () => {
  await empty();
  await aPublisher(stack.sql, { client_id: 2 });

  expect(await listOf("publishers/list", { client: "", lang: "German" })).toMatchObject({ max: 1, count: 1 });
});

describe.each([
  {
    endpoint: "contributor/works",
    relation: "by",
    anOwner: (columns: Columns) => aContributor(stack.sql, columns),
  },
  {
    endpoint: "publisher/publications",
    relation: "from",
    anOwner: (columns: Columns) => aPublisher(stack.sql, columns),
  },
] as const)("Series in $endpoint", ({ endpoint, relation, anOwner }) => {
  it.each([
    { lang: "German", texts: ["English", "German"], alias: "German", description: "German" },
    { lang: "ja", texts: ["English", "Japanese"], alias: "Japanese", description: "Japanese" },
    { lang: undefined, texts: ["German", "English"], alias: "English", description: "English" },
    { lang: "German", texts: ["French", "English"], alias: "English", description: "English" },
    // A name in another language says less than the series' own.
    { lang: "German", texts: ["French"], alias: "Ring", description: "French" },
    { lang: "Klingon", texts: [], alias: "Ring", description: "" },
    { lang: "de-DE", texts: ["English", "German"], alias: "German", description: "German" },
    {
      lang: "de_AT",
      texts: ["English", "German", "Austrian German"],
      alias: "Austrian German",
      description: "Austrian German",
    },
    { lang: "ger", texts: ["English", "German"], alias: "German", description: "German" },
    { lang: "Deutsch", texts: ["English", "German"], alias: "German", description: "German" },
    {
      lang: "zh-Hant-TW",
      texts: ["English", "Chinese", "Traditional Chinese"],
      alias: "Traditional Chinese",
      description: "Traditional Chinese",
    },
    { lang: "zh-HK", texts: ["English", "Chinese"], alias: "Chinese", description: "Chinese" },
    { lang: "pt-BR", texts: ["English", "Portuguese"], alias: "Portuguese", description: "Portuguese" },
    { lang: "sr-Latn", texts: ["English", "Serbian"], alias: "Serbian", description: "Serbian" },
    { lang: "日本語", texts: ["English", "Japanese"], alias: "Japanese", description: "Japanese" },
    { lang: "Quenya", texts: ["English", "quenya"], alias: "quenya", description: "quenya" },
  ])("are read in $lang, of texts in $texts, by the alias $alias", async ({ lang, texts, alias, description }) => {
    const owner = await anOwner({});
    const { id } = await aSeries(stack.sql, { [relation]: owner }, { name: "Ring" });
    for (const each of texts) {
      await stack.sql`insert into series_aliases (series_id, name, language) values (${id}, ${each}, ${each})`;
      await stack.sql`
        insert into series_descriptions (series_id, description, language) values (${id}, ${each}, ${each})
      `;
    }

    const { records } = await listOf(endpoint, lang ? { user_lang: lang } : {}, owner);

    expect(records).toMatchObject([{ alias, description }]);
  });

  it("of an owner of another client, or of an unpublished one, are none", async () => {
    const foreign = await anOwner({ client_id: 2 });
    const hidden = relation === "by" ? await anOwner({ public: false }) : foreign;
    for (const owner of [foreign, hidden]) await aSeries(stack.sql, { [relation]: owner });

    for (const owner of [foreign, hidden])
      expect(await listOf(endpoint, {}, owner)).toEqual({ records: [], max: 0, from: 0, to: 0 });
    expect((await listOf(endpoint, { client: 2 }, foreign)).max).toBeGreaterThan(0);
  });
});

describe("A search finds each record in whose name, or but for users aliases, all its words occur, and counts them", () => {
  /** What searches compare of a text: as the database's function says, for these characters. */
  function keyOf(text: string): string {
    const folded = text
      .normalize("NFKD")
      .replace(/\u200d|\u200e|(?=\p{M})(?:[\u0300-\u036f]|[\u064b-\u065f]|[\u05b0-\u05c7])/gu, "")
      .replace(/œ/gi, "oe")
      .replace(/ł/gi, "l")
      .toLowerCase()
      .replaceAll("ى", "ي")
      .replace(/[\u3041-\u3096]/g, (kana) => String.fromCodePoint((kana.codePointAt(0) ?? 0) + 0x60))
      .normalize("NFKC");
    return folded.replace(/[^\p{L}\p{M}\p{N}]|ʼ/gu, "") || folded.replace(/\s/g, "");
  }

  /** The words of a search, as visitors mean them. */
  function wordsOf(search: string): string[] {
    const words = search.replace(/['’ʼ.\u200e]|\u200d/g, "").split(/[^\p{L}\p{M}\p{N}]+/u);
    const spoken = words.filter((word) => /[\p{L}\p{N}]/u.test(word));
    return spoken.length > 0 ? spoken : search.split(/\s+/).filter((word) => keyOf(word) !== "");
  }

  /** Whether each word of a search occurs in one of the texts. */
  const isFound = (texts: readonly string[], search: string) =>
    wordsOf(search).every((word) => texts.some((text) => keyOf(text).includes(keyOf(word))));

  const part = fc.constantFrom(
    ..."a e b R é A\u030a œ Ł l % _ \\ ' ’ ʼ - ‐ , . ran Zor 手塚 治虫 ﾄ か\u3099 と أ ا ى ي שָׁ ש \u200d \u200e".split(
      " ",
    ),
  );
  const word = (maxLength: number) => fc.array(part, { minLength: 1, maxLength }).map((parts) => parts.join(""));
  const text = fc.array(word(4), { minLength: 1, maxLength: 3 }).map((words) => words.join(" "));
  const dozen = { minLength: 12, maxLength: 12 };
  const names = fc.array(fc.record({ name: text, aliases: fc.array(text, { maxLength: 3 }) }), dozen);
  const blank = fc.constantFrom(" ", "  ", "\u00a0", "\u3000", "\t");
  const search = fc
    .array(fc.tuple(word(2), blank), { minLength: 1, maxLength: 3 })
    .map((words) => words.flat().join(""))
    .filter((words) => wordsOf(words).length > 0);

  const aliasColumns = {
    contributors: ["contributor_aliases", "contributor_id", "name", ""],
    publishers: ["publisher_aliases", "publisher_id", "title", ", language"],
    series: ["series_aliases", "series_id", "name", ", language"],
  } as const;

  /** Adds aliases and, meanwhile, others: in one statement, one by one, and as another contributor's. */
  async function alias(table: keyof typeof aliasColumns, { id }: Entry, names: readonly string[], other: Entry) {
    const { query } = stack.sql;
    const [aliases, owner, name, language] = aliasColumns[table];
    const [first, ...rest] = names;
    const insert = `insert into ${aliases} (${owner}, ${name}${language})`;
    const values = language ? ", 'English'" : "";
    await query(`${insert} select $1::bigint, unnest($2::text[])${values}`, [id, [...rest, "ran manabeb"]]);
    if (first !== undefined) {
      await query(`${insert} select $1::bigint, 'Zor'${values}`, [other.id]);
      await query(
        `update ${aliases} set ${owner} = $1, ${name} = $2 where id = (select max(id) from ${aliases} where ${owner} = $3)`,
        [id, first, other.id],
      );
    }
    await query(`delete from ${aliases} where ${owner} = $1 and ${name} = 'ran manabeb'`, [id]);
  }

  /** The ids that a list gives, and its own number of them. */
  async function found(endpoint: string, search: string, owner?: Entry) {
    const { records, max } = await listOf(endpoint, { search }, owner);
    return { ids: records.map(({ id }) => id).toSorted((one, other) => one - other), max };
  }

  it("whatever they are", async () => {
    const property = fc.asyncProperty(names, fc.array(search, dozen), async (texts, searches) => {
      await empty();
      const maker = await aContributor(stack.sql, { first_name: "x", client_id: 1 });
      const house = await aPublisher(stack.sql, { name: "x" });
      const series0 = await aSeries(stack.sql, {}, { name: "x" });
      const all = [];
      for (const [number, { name: text, aliases }] of texts.entries()) {
        const name = `${text} #${number}`;
        const contributor = await aContributor(stack.sql, {
          first_name: text,
          last_name: `#${number}`,
          client_id: number % 3 || null,
          public: number % 4 > 0,
        });
        const publisher = await aPublisher(stack.sql, { name });
        const series = await aSeries(stack.sql, { by: maker, from: house }, { name });
        await alias("contributors", contributor, aliases, maker);
        await alias("publishers", publisher, aliases, house);
        await alias("series", series, aliases, series0);
        all.push({ number, name, aliases, contributor, publisher, series, user: await aUser(stack.sql, name) });
      }
      for (const search of searches) {
        const matching = all.filter(({ name, aliases }) => isFound([name, ...aliases], search));
        const named = all.filter(({ name }) => isFound([name], search));
        const own = matching.filter(({ number }) => number % 3 !== 2);
        const published = own.filter(({ number }) => number % 4 > 0);
        const expected: readonly { endpoint: string; records: readonly { id: number }[]; owner?: Entry }[] = [
          { endpoint: "admin-users/list", records: named.map(({ user }) => user) },
          { endpoint: "admin-contributors/list", records: own.map(({ contributor }) => contributor) },
          { endpoint: "contributors/list", records: published.map(({ contributor }) => contributor) },
          { endpoint: "publishers/list", records: matching.map(({ publisher }) => publisher) },
          { endpoint: "contributor/works", records: matching.map(({ series }) => series), owner: maker },
          { endpoint: "publisher/publications", records: matching.map(({ series }) => series), owner: house },
        ];
        for (const { endpoint, records, owner } of expected) {
          const matches = { ids: records.map(({ id }) => id), max: records.length };
          expect([endpoint, search, await found(endpoint, search, owner)]).toEqual([endpoint, search, matches]);
        }
      }
    });

    await fc.assert(property, { numRuns: 5, endOnFailure: true });
  });

  describe("by sixteen words:", () => {
    const title = "It was  the best of times, it was the worst of times, it was the";
    let id: number;

    beforeEach(async () => {
      await empty();
      ({ id } = await aContributor(stack.sql, { first_name: `${title} age`, client_id: 1 }));
    });

    it("a name that has them all", async () => {
      expect((await found("contributors/list", title)).ids).toEqual([id]);
    });

    it("a name that has them all, of which some are letters", async () => {
      expect((await found("contributors/list", "a b e f g h i m o r s t w , it of")).ids).toContain(id);
    });

    it("no name that lacks the last one", async () => {
      expect((await found("contributors/list", "a b e f g h i m o r s t w , it z")).ids).not.toContain(id);
    });

    it("a name that lacks a seventeenth", async () => {
      expect((await found("contributors/list", `${"it ".repeat(16)} z`)).ids).toContain(id);
    });
  });

  it("when others add aliases at the same time", async () => {
    for (let round = 0; round < 5 * rounds; round++) {
      const { id } = await aContributor(stack.sql, { client_id: 1 });

      await Promise.all(
        ["one", "two", "three", "four"].map(
          (name) => stack.sql`insert into contributor_aliases (contributor_id, name) values (${id}, ${`at ${name}`})`,
        ),
      );

      expect((await found("contributors/list", "one two three four at")).ids).toContain(id);
    }
  });
});

describe("A search finds a name however it is typed", () => {
  it.each([
    {
      name: "J. R. R. Tolkien",
      searches: ["j.r.r. tolkien", "JRR", "Tolkien, J. R. R.", "jrr tolkien", '"Tolkien, J.R.R."'],
    },
    {
      name: "Brian O'Malley",
      searches: ["O\u2019Malley", "omalley", "o\u02bcmalley", "O`Malley", "O\u00b4Malley", "O\uff07Malley"],
    },
    {
      name: "Jean-Claude Mézières",
      searches: ["Jean\u2010Claude", "jean\u2011claude", "Jean\u2013Claude", "Jean Claude", "jeanclaude"],
    },
    {
      name: "Osamu Tezuka",
      searches: ["tezuka?", "osamu & tezuka", "Tezuka; Osamu", "\u200eOsamu\u200f Tezuka", "«Tezuka»", "ＴＥＺＵＫＡ"],
    },
    { name: "手塚治虫", searches: ["手塚・治虫", "手塚 治虫", "手塚\u3000治虫", "手塚、治虫"] },
    { name: "أحمد", searches: ["احمد", "إحمد", "أَحْمَد", "ٱحمد", "احـمد"] },
    { name: "کیمیای فاطمة", searches: ["كيمياي", "کيمياى", "فاطمه"] },
    { name: "تاریخ ۱۲", searches: ["تاريخ 12", "تاریخ ١٢"] },
    { name: "ভাগ ১২", searches: ["ভাগ 12", "12", "১২"] },
    { name: "เล่ม ๓", searches: ["เล่ม 3", "เล่ม ๓"] },
    { name: "Պարույր Սևակ", searches: ["ՍԵՎԱԿ", "Սեւակ", "սևակ, պարույր"] },
    { name: "שָׁלוֹם", searches: ["שלום"] },
    { name: "ײַװער טױב", searches: ["ייווער", "ייַװער, טויב"] },
    { name: "てづか", searches: ["テヅカ", "ﾃﾂﾞｶ"] },
    { name: "İpek Işık", searches: ["ipek ışik", "IPEK ISIK", "ipek"] },
    { name: "Jürgen Groß", searches: ["GROSS", "jurgen gross", "groß"] },
    { name: "Φοίβος Ѐлин", searches: ["φοιβοσ", "ΦΟΙΒΟΣ", "елин"] },
    { name: "Þórbergur Æsop", searches: ["thorbergur", "aesop"] },
    { name: "+++", searches: ["+++", "++"] },
  ])("$name", async ({ name, searches }) => {
    await empty();
    const { id } = await aContributor(stack.sql, { first_name: name, client_id: 1 });
    await aContributor(stack.sql, { first_name: "Somebody else", client_id: 1 });

    for (const search of searches) {
      const { records } = await listOf("contributors/list", { search });
      expect(
        records.map((each) => each.id),
        search,
      ).toEqual([id]);
    }
  });

  it("whatever invisible characters are pasted with it", async () => {
    await empty();
    const { id } = await aContributor(stack.sql, { first_name: "Osamu", last_name: "Tezuka", client_id: 1 });
    const points = Array.from({ length: 0x110000 }, (_, point) => point).filter(
      (point) => point < 0xd800 || point > 0xdfff,
    );
    const invisible = points
      .map((point) => String.fromCodePoint(point))
      .filter((each) => /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2800]/u.test(each));
    const texts = Array.from({ length: Math.ceil(invisible.length / 100) }, (_, text) =>
      invisible
        .slice(100 * text, 100 * (text + 1))
        .join("")
        .replace("\0", ""),
    );

    for (const text of texts) {
      const { records } = await listOf("contributors/list", { search: `${text.slice(0, 4)}Te${text}zuka` });
      expect([text, records.map((each) => each.id)]).toEqual([text, [id]]);
    }
  });

  it.each([
    { what: "a vowel of Devanagari", name: "कि", search: "कु" },
    { what: "the voicing of kana", name: "かな", search: "がな" },
    { what: "a tone mark of Thai", name: "ไม้", search: "ไม่" },
    { what: "a letter between others", name: "Anna", search: "Ana" },
  ])("but for $what", async ({ name, search }) => {
    await empty();
    await aContributor(stack.sql, { first_name: name, client_id: 1 });

    expect((await listOf("contributors/list", { search })).records).toEqual([]);
  });
});
