import * as z from "zod/mini";
import { link } from "../contract/links.ts";
import {
  date,
  languageName,
  name,
  nameLengthMax,
  nameOrEmpty,
  optionalName,
  requiredText,
  source,
  withDefault,
} from "../contract/parameters.ts";
import { slugOf } from "../contract/slug.ts";
import { quotation } from "./excerpts.ts";

/*
 * The lines of a catalogue as a file (README.md, "Lines of a catalogue"): imports read them, exports write them. A name, a text, a
 * language or a link is checked and stored as in the endpoints that edit contributors.
 */

const keyLengthMax = 255;
const integerMin = -(2 ** 31);
const integerMax = 2 ** 31 - 1;

/** Text without white space, and without invisible characters. */
const word = z.string().check(z.minLength(1), z.maxLength(nameLengthMax), z.regex(/^[\p{L}\p{M}\p{N}\p{P}\p{S}]*$/u));
const slug = word.check(z.regex(/^[^/?#%\\]*$/));
/** Parts of unreserved characters (RFC 3986), none of them of dots alone. */
const imageKey = z
  .string()
  .check(z.maxLength(keyLengthMax), z.regex(/^(?!\.+(?:\/|$))[\w.~-]+(?:\/(?!\.+(?:\/|$))[\w.~-]+)*$/));
const positive = z.int().check(z.positive());

/** A field of a record: a line may leave it out, and null empties it. */
const or = <S extends z.ZodMiniType, const Empty>(schema: S, empty: Empty) =>
  z.optional(
    z.pipe(
      z.nullable(schema),
      z.transform((value): z.output<S> | Empty => value || empty),
    ),
  );
const orNull = <S extends z.ZodMiniType>(schema: S) => or(schema, null);

const list = <S extends z.ZodMiniType>(element: S, max: number) => or(z.array(element).check(z.maxLength(max)), []);

/** A list in which no two elements have the same value of this field. */
const listBy = <Shape extends z.core.$ZodShape>(key: keyof Shape & string, shape: Shape, max: number) =>
  or(
    z.array(z.strictObject(shape)).check(
      z.maxLength(max),
      z.refine((elements) => new Set(elements.map((element) => Object(element)[key])).size === elements.length),
    ),
    [],
  );

const description = z.strictObject({
  language: languageName,
  description: requiredText,
  source: withDefault(source, ""),
});
const descriptions = list(description, 40);
const aliasesMax = 200;

/** What all records with an external id have first. */
const record = { externalId: word, slug: z.optional(slug), client: orNull(positive) };

const kinds = {
  client: z.strictObject({ kind: z.literal("client"), id: positive, name }),
  publisher: z.strictObject({
    kind: z.literal("publisher"),
    ...record,
    name: z.optional(name),
    short_name: orNull(nameOrEmpty),
    country: orNull(nameOrEmpty),
    website: orNull(link),
    headquarter: orNull(nameOrEmpty),
    founding_date: orNull(date),
    image: orNull(imageKey),
    image_source: orNull(source),
    aliases: list(z.strictObject({ title: name, language: languageName }), aliasesMax),
    descriptions,
  }),
  "publisher-relation": z.strictObject({ kind: z.literal("publisher-relation"), from: word, to: word, type: name }),
  contributor: z.strictObject({
    kind: z.literal("contributor"),
    ...record,
    public: or(z.boolean(), false),
    first_name: z.optional(name),
    last_name: orNull(nameOrEmpty),
    gender: orNull(nameOrEmpty),
    type: orNull(nameOrEmpty),
    image: orNull(imageKey),
    links: list(link, 50),
    aliases: list(name, aliasesMax),
    descriptions,
  }),
  "contributor-relation": z.strictObject({
    kind: z.literal("contributor-relation"),
    from: word,
    to: word,
    relation_type: name,
  }),
  series: z.strictObject({
    kind: z.literal("series"),
    ...record,
    name: z.optional(name),
    type: or(nameOrEmpty, ""),
    origin: or(nameOrEmpty, ""),
    tags: list(name, 200),
    aliases: list(z.strictObject({ name, language: languageName }), aliasesMax),
    descriptions: list(z.strictObject({ language: languageName, description: requiredText }), 40),
    volumes: listBy(
      "number",
      {
        number: z.int().check(z.minimum(integerMin), z.maximum(integerMax)),
        cover: withDefault(imageKey, null),
        aspect_ratio: withDefault(z.number().check(z.positive()), 0.7),
        nsfw: withDefault(z.literal([0, 1]), 0),
        nsfw18: withDefault(z.literal([0, 1]), 0),
      },
      2_000,
    ),
    contributors: listBy("contributor", { contributor: word, role: optionalName }, 500),
    publishers: or(
      z.array(word).check(
        z.maxLength(200),
        z.refine((elements) => new Set(elements).size === elements.length),
      ),
      [],
    ),
  }),
} as const;

/** The schema of each kind of line, in an order in which each finds what it refers to. */
export const lineSchemas: Readonly<Record<string, z.ZodMiniObject>> = kinds;

/** How the database stores what lines say: a table for each kind, and one for each of its lists. */
interface Storage {
  readonly table: string;
  /** Fields whose columns have other names. */
  readonly columns?: Readonly<Record<string, string>>;
  /** The table of a list, and the column of elements that are no objects. */
  readonly lists?: Readonly<Record<string, readonly [table: string, column?: string]>>;
}

const storages: Readonly<Record<keyof typeof kinds, Storage>> = {
  client: { table: "clients" },
  publisher: {
    table: "publishers",
    columns: { client: "client_id" },
    lists: { aliases: ["publisher_aliases"], descriptions: ["publisher_descriptions"] },
  },
  "publisher-relation": { table: "publisher_relations", columns: { from: "publisher_id", to: "relation_id" } },
  contributor: {
    table: "contributors",
    columns: { client: "client_id" },
    lists: {
      links: ["contributor_links", "url"],
      aliases: ["contributor_aliases", "name"],
      descriptions: ["contributor_descriptions"],
    },
  },
  "contributor-relation": { table: "contributor_relations", columns: { from: "contributor_id", to: "relation_id" } },
  series: {
    table: "series",
    columns: { client: "client_id", contributor: "contributor_id" },
    lists: {
      tags: ["series_tags", "tag_id"],
      aliases: ["series_aliases"],
      descriptions: ["series_descriptions"],
      volumes: ["volumes"],
      contributors: ["series_contributors"],
      publishers: ["series_publishers", "publisher_id"],
    },
  },
};

/** A line, and the rows that it says, as the database function takes them (lib/changes/import-lines.sql). */
export function storedLine(number: number, { kind, ...line }: CatalogueLine) {
  const { table: table_name, columns = {}, lists = {} }: Storage = storages[kind];
  const { externalId, slug, ...fields }: Readonly<Record<string, unknown>> = line;
  const row = (values: object) =>
    Object.fromEntries(Object.entries(values).map(([field, value]) => [columns[field] ?? field, value]));
  const object = row(Object.fromEntries(Object.entries(fields).filter(([field]) => !(field in lists))));
  const ofLists = Object.entries(fields).flatMap(([field, elements]) => {
    const [table = "", column] = lists[field] ?? [];
    if (table === "" || !Array.isArray(elements)) return [];
    const objects = column === undefined ? elements.map(row) : elements.map((element) => ({ [column]: element }));
    return [{ table, objects: table === "contributor_links" ? linkRows(elements) : objects }];
  });
  return {
    line: {
      number,
      table_name,
      reference: externalId ?? fields.id,
      external_id: externalId,
      slug,
      made: externalId && slugOf(nameOf(fields), kind),
      lists: ofLists.map(({ table }) => table),
      object,
    },
    rows: ofLists.flatMap(({ table, objects }) =>
      objects.map((each, index) => ({ line: number, table_name: table, place: index + 1, object: each })),
    ),
  };
}

const linkRows = (urls: readonly unknown[]) => [...new Set(urls)].map((url, position) => ({ position, url }));

const nameOf = ({ name = "", first_name = name, last_name }: Readonly<Record<string, unknown>>): string =>
  `${first_name} ${last_name ?? ""}`;

/** The field of a line that the database names by its table, its place in a list, and its column. */
export function fieldOf(stored: string): string {
  const [table = "", ...rest] = stored.split(".");
  for (const { table: own, columns = {}, lists = {} } of Object.values(storages)) {
    const field = (column: string) => Object.entries(columns).find(([, name]) => name === column)?.[0] ?? column;
    if (own === table) return rest.map(field).join(".");
    const [list, [, element] = []] = Object.entries(lists).find(([, [name]]) => name === table) ?? [];
    const [place, column = ""] = rest;
    if (list !== undefined) return [list, place, ...(column === element ? [] : [field(column)])].join(".");
  }
  return stored;
}

/** What a line says, checked: its fields in their order, as they are stored. */
export type CatalogueLine = z.output<(typeof kinds)[keyof typeof kinds]>;

/** What fields must be, by their names; an element of a list has the list's name and []. */
export const expectations: Readonly<Record<string, string>> = {
  kind: `one of ${Object.keys(kinds).join(", ")}`,
  id: "a positive integer",
  externalId: "your own name of the record: 1 to 255 visible characters, without spaces",
  from: "the externalId of a record, in the database or on an earlier line",
  to: "the externalId of another record, in the database or on an earlier line",
  slug: "its name in addresses: 1 to 255 visible characters, without spaces, / ? # % and \\",
  client: "the id of a client, or null for all of them",
  name: "a name: at most 255 characters, one of them visible, no control characters",
  first_name: "a name: at most 255 characters, one of them visible, no control characters",
  last_name: "a name of at most 255 characters, or null",
  short_name: "a name of at most 255 characters, or null",
  country: "a name of at most 255 characters, or null",
  headquarter: "a name of at most 255 characters, or null",
  gender: "a name of at most 255 characters, or null",
  type: "a name of at most 255 characters",
  relation_type: "a name: what `to` is to `from`, at most 255 characters",
  origin: "a name of at most 255 characters",
  website: "an http or https address of at most 2,000 characters, or null",
  founding_date: "a date as 1909-12-31, or null",
  image: "the key of an object in the bucket, such as avatars/one.webp: at most 255 of A-Z a-z 0-9 _ . ~ - /; or null",
  image_source: "text of at most 255 characters, or null",
  public: "true or false",
  links: "a list of at most 50 addresses",
  "links[]": "an http or https address of at most 2,000 characters",
  aliases: "a list of at most 200 aliases",
  "aliases[]": "an alias: of contributors a name, of publishers title and language, of series name and language",
  title: "a name: at most 255 characters, one of them visible, no control characters",
  language: "a language by its English name or two-letter code",
  descriptions: "a list of at most 40 descriptions",
  "descriptions[]": "an object with language and description, and where there is one source",
  description: "text of 1 to 20,000 characters",
  source: "text of at most 255 characters",
  tags: "a list of at most 200 names",
  "tags[]": "a name: at most 255 characters, one of them visible, no control characters",
  volumes: "a list of at most 2,000 volumes, each with another number",
  "volumes[]": "an object with number, and if need be cover, aspect_ratio, nsfw, nsfw18",
  number: "an integer of 32 bits",
  cover: "the key of an object in the bucket, such as covers/one.webp: at most 255 of A-Z a-z 0-9 _ . ~ - /; or null",
  aspect_ratio: "a positive number: width divided by height",
  nsfw: "0 or 1",
  nsfw18: "0 or 1",
  contributors: "a list of at most 500 contributors, each of them once",
  "contributors[]": "an object with contributor, and if need be role",
  contributor: "the externalId of a contributor, in the database or on an earlier line",
  role: "a name of at most 255 characters, or null",
  publishers: "a list of at most 200 externalIds, each of them once",
  "publishers[]": "the externalId of a publisher, in the database or on an earlier line",
};

/** Why a line is refused: its field, and what was expected; a null field means the line as a whole. */
export interface Refusal {
  readonly field: string | null;
  readonly reason: string;
}

/** Reads a line, without its line break. */
export function parseLine(text: string): CatalogueLine | Refusal {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { field: null, reason: `expected JSON: ${quotation(String(Object(error).message))}` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { field: null, reason: "expected a JSON object" };
  const kind = "kind" in value ? value.kind : undefined;
  if (!isKind(kind)) return refusalOf(["kind"]);
  const result = z.safeParse<(typeof kinds)[keyof typeof kinds]>(kinds[kind], value);
  if (!result.success) return refusalOf(result.error.issues[0]?.path ?? [], result.error.issues[0]);
  return isSelfRelation(result.data) ? refusalOf(["to"]) : result.data;
}

const isKind = (kind: unknown): kind is keyof typeof kinds => typeof kind === "string" && Object.hasOwn(kinds, kind);

const isSelfRelation = (line: CatalogueLine): boolean => "to" in line && line.from === line.to;

function refusalOf(path: readonly PropertyKey[], issue?: z.core.$ZodIssue): Refusal {
  if (issue?.code === "unrecognized_keys")
    return { field: quotation([...path, issue.keys[0]].join(".")), reason: "is no field of such a line" };
  const last = path.at(-1);
  const key = typeof last === "number" ? `${String(path.at(-2))}[]` : String(last);
  return { field: path.join("."), reason: `expected ${expectations[key]}` };
}
