import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor, aPublisher, aSeries, type Entry } from "../support/catalogue.ts";
import { aUser } from "../support/people.ts";
import { rounds } from "../support/rounds.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
const administrator = useAdministrator(stack);

interface Names {
  readonly name: string;
  readonly aliases: readonly string[];
}

/** What searches compare of a text: no case, no accents, no joiners, one blank between words. */
const keyOf = (text: string) =>
  text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f\u200d]/g, "")
    .replace(/œ/gi, "oe")
    .replace(/\s+/g, " ")
    .trim()
    .toLowerCase();

/** Whether each word occurs in the name or in an alias. */
const isFound = ({ name, aliases }: Names, search: string) =>
  keyOf(search)
    .split(" ")
    .every((word) => [name, ...aliases].some((text) => keyOf(text).includes(word)));

const part = fc.constantFrom(..."a e b R é A\u030a œ % _ \\ ' - . ran Zor 手塚 治虫 ﾄ \u200d".split(" "));
const word = (maxLength: number) => fc.array(part, { minLength: 1, maxLength }).map((parts) => parts.join(""));
const text = fc.array(word(4), { minLength: 1, maxLength: 3 }).map((words) => words.join(" "));
const names = fc.array(fc.record({ name: text, aliases: fc.array(text, { maxLength: 3 }) }), {
  minLength: 12,
  maxLength: 12,
});
const blank = fc.constantFrom(" ", "  ", "\u00a0", "\u3000", "\t");
const search = fc
  .array(fc.tuple(word(2), blank), { minLength: 1, maxLength: 3 })
  .map((words) => words.flat().join(""))
  .filter((words) => keyOf(words) !== "");

const aliasColumns = {
  contributors: ["contributor_aliases", "contributor_id", "name", ""],
  publishers: ["publisher_aliases", "publisher_id", "title", ", language"],
  series: ["series_aliases", "series_id", "name", ", language"],
} as const;

/** Adds aliases and, meanwhile, others: in one statement, one by one, and as another contributor's. */
async function alias(
  table: keyof typeof aliasColumns,
  { id }: Entry,
  names: readonly string[],
  other: Entry,
): Promise<void> {
  const { query } = stack.sql;
  const [aliases = "", owner = "", name = "", language = ""] = aliasColumns[table];
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

describe("A search finds each record in whose name or aliases all its words occur, and counts them", () => {
  const reset = () => stack.sql`truncate contributors, publishers, series restart identity cascade`;

  /** The ids that a list gives, and its own number of them. */
  async function found(endpoint: string, search: string, path?: Readonly<Record<string, number>>) {
    const { body } = await stack.call(endpoint, {
      as: administrator.token,
      query: {
        search,
        ...(endpoint.startsWith("publishers") || endpoint.startsWith("admin-users") ? {} : { client: 1 }),
      },
      ...(path ? { path } : {}),
    });
    const [records] = Object.values(body) as { id: number }[][];
    return { ids: records?.map(({ id }) => id).toSorted((one, other) => one - other), max: body.max };
  }

  it("whatever they are", async () => {
    const property = fc.asyncProperty(
      names,
      fc.array(search, { minLength: 12, maxLength: 12 }),
      async (texts, searches) => {
        await reset();
        const maker = await aContributor(stack.sql, { first_name: "x", client_id: 1 });
        const house = await aPublisher(stack.sql, { name: "x" });
        const series0 = await aSeries(stack.sql, {}, { name: "x" });
        const all: (Names & { number: number; contributor: Entry; publisher: Entry; series: Entry })[] = [];
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
          all.push({ number, name, aliases, contributor, publisher, series });
        }
        for (const search of searches) {
          const matching = all.filter((each) => isFound(each, search));
          const own = matching.filter(({ number }) => number % 3 !== 2);
          const published = own.filter(({ number }) => number % 4 > 0);
          const expected: readonly (readonly [string, readonly Entry[], { id: number }?])[] = [
            ["admin-contributors/list", own.map(({ contributor }) => contributor)],
            ["contributors/list", published.map(({ contributor }) => contributor)],
            ["publishers/list", matching.map(({ publisher }) => publisher)],
            ["contributor/works", matching.map(({ series }) => series), { id: maker.id }],
            ["publisher/publications", matching.map(({ series }) => series), { id: house.id }],
          ];
          for (const [endpoint, records, path] of expected) {
            const matches = { ids: records.map(({ id }) => id), max: records.length };
            expect([endpoint, search, await found(endpoint, search, path)]).toEqual([endpoint, search, matches]);
          }
        }
      },
    );

    await fc.assert(property, { numRuns: 5, endOnFailure: true });
  });

  it("and users by their name alone", async () => {
    const property = fc.asyncProperty(text, search, async (text, search) => {
      const name = `${text} ${crypto.randomUUID()}`;
      const { id } = await aUser(stack.sql, name);

      const { ids, max } = await found("admin-users/list", search);

      expect([search, ids?.includes(id), ids?.length]).toEqual([search, isFound({ name, aliases: [] }, search), max]);
    });

    await fc.assert(property, { numRuns: 20, endOnFailure: true });
  });

  it("of as many as sixteen words, of which some are no more than a letter", async () => {
    const title = "It was  the best of times, it was the worst of times, it was the";
    const { id } = await aContributor(stack.sql, { first_name: `${title} age`, client_id: 1 });

    expect((await found("contributors/list", title)).ids).toEqual([id]);
    expect((await found("contributors/list", "a b e f g h i m o r s t w , it of")).ids).toContain(id);
    expect((await found("contributors/list", "a b e f g h i m o r s t w , it z")).ids).not.toContain(id);
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
