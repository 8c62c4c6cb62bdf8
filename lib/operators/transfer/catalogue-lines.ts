import * as z from "zod/mini";
import { link } from "../../contract/links.ts";
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
} from "../../contract/parameters.ts";
import { slugOf } from "../../contract/slug.ts";
import type { Column } from "../../queries/catalogue.ts";
import { quotation } from "../quotation.ts";
import { columnsOf, expectationOf, type Meaning, meaning, schemaIn, tableOf } from "./catalogue-fields.ts";

/*
 * The lines of a catalogue as a file (../README.md, "Lines of a catalogue"): imports read them, exports write them. A name,
 * a text, a
 * language or a link is checked and stored as in the endpoints that edit contributors. Here alone is declared which
 * fields a line has.
 */

const keyLengthMax = 255;
const integerMin = -(2 ** 31);
const integerMax = 2 ** 31 - 1;

meaning(name, "a name: at most 255 characters, one of them visible, no control characters");
meaning(nameOrEmpty, "a name of at most 255 characters");
meaning(link, "an http or https address of at most 2,000 characters");
meaning(date, "1909, 1909-12 or 1909-12-31");
meaning(languageName, "a language by its name, tag (BCP 47) or code (ISO 639)");
meaning(requiredText, "text of 1 to 20,000 characters");
meaning(source, "text of at most 255 characters");

/** Text without white space, and without invisible characters. */
const word = z.string().check(z.minLength(1), z.maxLength(nameLengthMax), z.regex(/^[\p{L}\p{M}\p{N}\p{P}\p{S}]*$/u));
const slug = meaning(
  word.check(z.regex(/^[^/?#%\\]*$/)),
  "its name in addresses: 1 to 255 visible characters, without spaces, / ? # % and \\",
);
/**
 * Parts of unreserved characters (RFC 3986), none of them of dots alone. The small picture of an image has a key of its
 * own (lib/images/keys.ts), and is removed with the image, so no record may have it.
 */
const imageKey = meaning(
  z
    .string()
    .check(
      z.maxLength(keyLengthMax),
      z.regex(/^(?!.*-256(?:\.\w+)?$)(?!\.+(?:\/|$))[\w.~-]+(?:\/(?!\.+(?:\/|$))[\w.~-]+)*$/),
    ),
  "the key of an object in the bucket, such as avatars/one.webp: at most 255 of A-Z a-z 0-9 _ . ~ - /, and not that of a small picture, which ends in -256",
);
const zeroOrOne = meaning(z.literal([0, 1]), "0 or 1");

/** A record by its external id, whose own id is stored in this column. */
const reference = (parent: string, column: string, noun: string) =>
  meaning(word.check(), `the externalId of ${noun}, in the database or on an earlier line`, { parent, column });

/** A field of a record: a line may leave it out, and null empties it. */
const or = <S extends z.ZodMiniType, const Empty>(schema: S, empty: Empty) =>
  z.optional(
    z.pipe(
      z.nullable(schema),
      z.transform((value): z.output<S> | Empty => value || empty),
    ),
  );
const orNull = <S extends z.ZodMiniType>(schema: S) => or(schema, null);

interface ListMeaning extends Pick<Meaning, "column" | "parent"> {
  /** No two elements have the same values of these fields, or null: are the same. */
  readonly distinct?: readonly string[] | null;
  /** The column by which the database tells an element from others of its record. Default: none. */
  readonly key?: string;
  /** The order in an export. Default: by ids. */
  readonly order?: string;
}

/** A list in a table of its own. */
function list<S extends z.ZodMiniType>(
  table: string,
  element: S,
  max: number,
  { distinct, key, order = `${table}.id`, ...only }: ListMeaning = {},
) {
  const keyOf = (value: unknown) => (distinct ? distinct.map((field) => Object(value)[field]).join("\n") : value);
  const isFine = (values: readonly unknown[]) =>
    distinct === undefined || new Set(values.map(keyOf)).size === values.length;
  const expected = `a list of at most ${max} elements${distinct === undefined ? "" : `, each with another ${distinct?.join(" and ") ?? "value"}`}`;
  const array = z.array(element).check(z.maxLength(max), z.refine(isFine));
  return or(meaning(array, expected, { list: { table, key, order, columns: columnsOf(element, only) } }), []);
}

/** A kind of lines, which are rows of this table. */
function line<const Kind extends string, Shape extends z.core.$ZodShape>(kind: Kind, table: string, shape: Shape) {
  const schema = z.strictObject({ kind: z.literal(kind), ...shape });
  return { schema, ...tableOf(table, Object.entries(shape)) };
}

/** What all records with an external id have first. */
const record = (table: string) => ({
  externalId: meaning(word.check(), "your own name of the record: 1 to 255 visible characters, without spaces", {
    parent: table,
    column: "id",
  }),
  slug: z.optional(slug),
  client: orNull(
    meaning(z.int().check(z.positive()), "the id of a client", { parent: "clients", column: "client_id" }),
  ),
});

const descriptions = (table: string) =>
  list(
    table,
    z.strictObject({ language: languageName, description: requiredText, source: withDefault(source, "") }),
    40,
    { distinct: ["language", "source"] },
  );
const aliasesMax = 200;
const contributor = reference("contributors", "contributor_id", "a contributor");
const publisher = reference("publishers", "publisher_id", "a publisher");

const volume = z.strictObject({
  number: meaning(z.int().check(z.minimum(integerMin), z.maximum(integerMax)), "an integer of 32 bits"),
  cover: withDefault(imageKey, null),
  aspect_ratio: withDefault(meaning(z.number().check(z.positive()), "a positive number: width divided by height"), 0.7),
  nsfw: withDefault(zeroOrOne, 0),
  nsfw18: withDefault(zeroOrOne, 0),
});

/** The kinds of lines, in an order in which each finds what it refers to. */
export const kinds = {
  client: line("client", "clients", {
    id: meaning(z.int().check(z.positive()), "a positive integer", { parent: "clients" }),
    name,
  }),
  publisher: line("publisher", "publishers", {
    ...record("publishers"),
    name: z.optional(name),
    short_name: orNull(nameOrEmpty),
    country: orNull(nameOrEmpty),
    website: orNull(link),
    headquarter: orNull(nameOrEmpty),
    founding_date: orNull(date),
    image: orNull(imageKey),
    image_source: orNull(source),
    aliases: list("publisher_aliases", z.strictObject({ title: name, language: languageName }), aliasesMax),
    descriptions: descriptions("publisher_descriptions"),
  }),
  "publisher-relation": line("publisher-relation", "publisher_relations", {
    from: publisher,
    to: reference("publishers", "relation_id", "another publisher"),
    type: name,
  }),
  contributor: line("contributor", "contributors", {
    ...record("contributors"),
    public: or(meaning(z.boolean(), "true or false"), false),
    first_name: z.optional(name),
    last_name: orNull(nameOrEmpty),
    disambiguation: or(nameOrEmpty, ""),
    sort_name: orNull(nameOrEmpty),
    gender: orNull(nameOrEmpty),
    type: orNull(nameOrEmpty),
    image: orNull(imageKey),
    links: list("contributor_links", link, 50, { column: "url", key: "position", order: "position" }),
    aliases: list("contributor_aliases", name, aliasesMax, { column: "name" }),
    descriptions: descriptions("contributor_descriptions"),
  }),
  "contributor-relation": line("contributor-relation", "contributor_relations", {
    from: contributor,
    to: reference("contributors", "relation_id", "another contributor"),
    relation_type: name,
  }),
  series: line("series", "series", {
    ...record("series"),
    name: z.optional(name),
    type: or(nameOrEmpty, ""),
    origin: or(nameOrEmpty, ""),
    tags: list("series_tags", name, 200, {
      column: "tag_id",
      parent: "tags",
      key: "tag_id",
      order: 'tags.name collate "C"',
    }),
    aliases: list("series_aliases", z.strictObject({ name, language: languageName }), aliasesMax),
    descriptions: list(
      "series_descriptions",
      z.strictObject({ language: languageName, description: requiredText }),
      40,
      { distinct: ["language"] },
    ),
    volumes: list("volumes", volume, 2_000, { key: "number", order: "number", distinct: ["number"] }),
    contributors: list("series_contributors", z.strictObject({ contributor, role: optionalName }), 500, {
      key: "contributor_id",
      order: "contributor_id",
      distinct: ["contributor"],
    }),
    publishers: list("series_publishers", publisher, 200, {
      key: "publisher_id",
      order: "publisher_id",
      distinct: null,
    }),
  }),
} as const;

type Kind = keyof typeof kinds;

/** What a line says, checked: its fields in their order, as they are stored. */
export type CatalogueLine = z.output<(typeof kinds)[Kind]["schema"]>;

const rowOf = (columns: readonly Column[], value: unknown) =>
  Object.fromEntries(
    columns.flatMap(({ field, name }) => {
      const content: unknown = field === undefined ? value : Object(value)[field];
      return content === undefined ? [] : [[name, content]];
    }),
  );

/**
 * A line of a file that a client sent: its records are the client's, also if the line leaves that out. The database
 * finds no others.
 */
export function lineOfClient(line: CatalogueLine | Refusal, client: number): CatalogueLine | Refusal {
  if ("reason" in line || "to" in line) return line;
  if (line.kind === "client") return { field: "kind", reason: "expected no client, in an import for one" };
  if (line.client === undefined || line.client === client) return { ...line, client };
  return { field: "client", reason: `expected ${client}, for which this import is` };
}

/** The records that a row names, each with its table. Tags are added as they are named. */
const namesIn = (columns: readonly Column[], row: Readonly<Record<string, unknown>>) =>
  columns.flatMap(({ name, parent = "tags" }) => {
    const record = row[name];
    return parent === "tags" || (record ?? undefined) === undefined ? [] : [[parent, String(record)] as const];
  });

/** A line as the database function takes it (lib/changes/import-names.sql). */
export function storedLine({ kind, ...fields }: CatalogueLine) {
  const { table, columns, lists } = kinds[kind];
  const object = rowOf(columns, fields);
  const listed = lists.flatMap(({ field, key, ...list }) => {
    const said: unknown = Object(fields)[field];
    if (!Array.isArray(said)) return [];
    const elements = key === "position" ? [...new Set(said)] : said;
    const rows = elements.map((element, position) => ({
      ...rowOf(list.columns, element),
      ...(key === "position" && { position }),
    }));
    return [{ table: list.table, rows, names: rows.flatMap((row) => namesIn(list.columns, row)) }];
  });
  return {
    table_name: table,
    made:
      "externalId" in fields
        ? slugOf(
            [nameOf(fields), ...latinAliasesOf(fields), ("sort_name" in fields && fields.sort_name) || ""],
            kind,
            "disambiguation" in fields ? fields.disambiguation : "",
          )
        : undefined,
    object,
    lists: Object.fromEntries(listed.map(({ table, rows }) => [table, rows])),
    names: [...namesIn(columns, object), ...listed.flatMap(({ names }) => names)],
  };
}

const nameOf = ({ name = "", first_name = name, last_name }: Readonly<Record<string, unknown>>): string =>
  `${first_name} ${last_name ?? ""}`;

const latinAliasesOf = ({ aliases = [] }: { readonly aliases?: readonly Alias[] | undefined }): string[] =>
  aliases
    .map((alias) => (typeof alias === "string" ? alias : "title" in alias ? alias.title : alias.name))
    .filter((alias) => /\p{Script=Latin}/u.test(alias));

type Alias = string | { readonly name: string } | { readonly title: string };

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
  if (!isKind(kind)) return { field: "kind", reason: `expected one of ${Object.keys(kinds).join(", ")}` };
  const result = z.safeParse<(typeof kinds)[Kind]["schema"]>(kinds[kind].schema, value);
  return result.success ? result.data : refusalOf(kinds[kind].schema, result.error.issues[0]);
}

const isKind = (kind: unknown): kind is Kind => typeof kind === "string" && Object.hasOwn(kinds, kind);

function refusalOf(schema: z.core.$ZodType, issue?: z.core.$ZodIssue): Refusal {
  const path = issue?.path ?? [];
  if (issue?.code === "unrecognized_keys")
    return { field: quotation([...path, issue.keys[0]].join(".")), reason: "is no field of such a line" };
  return { field: path.join("."), reason: `expected ${expectationOf(path.reduce(schemaIn, schema))}` };
}
