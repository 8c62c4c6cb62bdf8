import * as z from "zod/mini";
import { link } from "../../contract/links.ts";
import {
  date,
  languageName,
  name,
  nameLengthMax,
  nameOrEmpty,
  requiredText,
  source,
} from "../../contract/parameters.ts";
import { slugOf } from "../../contract/slug.ts";
import type { Column } from "../../queries/catalogue.ts";
import { quotation } from "../quotation.ts";
import {
  expectationOf,
  type Fields,
  field,
  fieldAt,
  line,
  list,
  object,
  optional,
  or,
  orNull,
  withDefault,
} from "./catalogue-fields.ts";

/*
 * The lines of a catalogue as a file (../README.md, "Lines of a catalogue"): imports read them, exports write them. A name,
 * a text, a
 * language or a link is checked and stored as in the endpoints that edit contributors. Here alone is declared which
 * fields a line has.
 */

const keyLengthMax = 255;
const integerMin = -(2 ** 31);
const integerMax = 2 ** 31 - 1;

const aName = field(name, "a name: at most 255 characters, one of them visible, no control characters");
const aNameOrEmpty = field(nameOrEmpty, "a name of at most 255 characters");
const aLink = field(link, "an http or https address of at most 2,000 characters");
const aDate = field(date, "1909, 1909-12 or 1909-12-31");
const aLanguage = field(languageName, "a language by its name, tag (BCP 47) or code (ISO 639)");
const aText = field(requiredText, "text of 1 to 20,000 characters");
const aSource = field(source, "text of at most 255 characters");
const anId = z.int().check(z.positive());

/** Text without white space, and without invisible characters. Documents describe a schema once, so each field has a copy. */
const word = z.string().check(z.minLength(1), z.maxLength(nameLengthMax), z.regex(/^[\p{L}\p{M}\p{N}\p{P}\p{S}]*$/u));
const slug = field(
  word.check(z.regex(/^[^/?#%\\]*$/)),
  "its name in addresses: 1 to 255 visible characters, without spaces, / ? # % and \\",
);
/**
 * Parts of unreserved characters (RFC 3986), none of them of dots alone. The small picture of an image has a key of its
 * own (lib/images/keys.ts), and is removed with the image, so no record may have it.
 */
const imageKey = field(
  z
    .string()
    .check(
      z.maxLength(keyLengthMax),
      z.regex(/^(?!.*-256(?:\.\w+)?$)(?!\.+(?:\/|$))[\w.~-]+(?:\/(?!\.+(?:\/|$))[\w.~-]+)*$/),
    ),
  "the key of an object in the bucket, such as avatars/one.webp: at most 255 of A-Z a-z 0-9 _ . ~ - /, and not that of a small picture, which ends in -256",
);
const imageSize = field(
  z.string().check(z.regex(/^[1-9]\d{0,4}x[1-9]\d{0,4}$/)),
  "width and height of the image in pixels, such as 1024x683",
);
const zeroOrOne = field(z.literal([0, 1]), "0 or 1");

/** A record by its external id, whose own id is stored in this column. */
const reference = (parent: string, column: string, noun: string) =>
  field(word.check(), `the externalId of ${noun}, in the database or on an earlier line`, { parent, column });

/** What all records with an external id have first. */
const record = (table: string) => ({
  externalId: field(word.check(), "your own name of the record: 1 to 255 visible characters, without spaces", {
    parent: table,
    column: "id",
  }),
  slug: optional(slug),
  client: orNull(field(anId.check(), "the id of a client", { parent: "clients", column: "client_id" })),
});

const descriptions = (table: string) =>
  list(table, object({ language: aLanguage, description: aText, source: withDefault(aSource, "") }), 40, {
    distinct: ["language", "source"],
  });
const aliasesMax = 200;
const contributor = reference("contributors", "contributor_id", "a contributor");
const publisher = reference("publishers", "publisher_id", "a publisher");

const volume = object({
  number: field(z.int().check(z.minimum(integerMin), z.maximum(integerMax)), "an integer of 32 bits"),
  cover: withDefault(imageKey, null),
  aspect_ratio: withDefault(field(z.number().check(z.positive()), "a positive number: width divided by height"), 0.7),
  nsfw: withDefault(zeroOrOne, 0),
  nsfw18: withDefault(zeroOrOne, 0),
});

/** The kinds of lines, in an order in which each finds what it refers to. */
export const kinds = {
  client: line("client", "clients", {
    id: field(anId, "a positive integer", { parent: "clients" }),
    name: aName,
  }),
  publisher: line("publisher", "publishers", {
    ...record("publishers"),
    name: optional(aName),
    short_name: orNull(aNameOrEmpty),
    country: orNull(aNameOrEmpty),
    website: orNull(aLink),
    headquarter: orNull(aNameOrEmpty),
    founding_date: orNull(aDate),
    image: orNull(imageKey),
    image_size: orNull(imageSize),
    image_source: orNull(aSource),
    aliases: list("publisher_aliases", object({ title: aName, language: aLanguage }), aliasesMax),
    descriptions: descriptions("publisher_descriptions"),
  }),
  "publisher-relation": line("publisher-relation", "publisher_relations", {
    from: publisher,
    to: reference("publishers", "relation_id", "another publisher"),
    type: aName,
  }),
  contributor: line("contributor", "contributors", {
    ...record("contributors"),
    public: or(field(z.boolean(), "true or false"), false),
    first_name: optional(aName),
    last_name: orNull(aNameOrEmpty),
    disambiguation: or(aNameOrEmpty, ""),
    sort_name: { ...orNull(aNameOrEmpty), derived: "default_sort_name(first_name, last_name)" },
    gender: orNull(aNameOrEmpty),
    type: orNull(aNameOrEmpty),
    image: orNull(imageKey),
    image_size: orNull(imageSize),
    links: list("contributor_links", aLink, 50, { column: "url", key: "position", order: "position" }),
    aliases: list("contributor_aliases", aName, aliasesMax, { column: "name" }),
    descriptions: descriptions("contributor_descriptions"),
  }),
  "contributor-relation": line("contributor-relation", "contributor_relations", {
    from: contributor,
    to: reference("contributors", "relation_id", "another contributor"),
    relation_type: aName,
  }),
  series: line("series", "series", {
    ...record("series"),
    name: optional(aName),
    type: or(aNameOrEmpty, ""),
    origin: or(aNameOrEmpty, ""),
    tags: list("series_tags", aName, 200, {
      column: "tag_id",
      parent: "tags",
      key: "tag_id",
      order: 'tags.name collate "C"',
    }),
    aliases: list("series_aliases", object({ name: aName, language: aLanguage }), aliasesMax),
    descriptions: list("series_descriptions", object({ language: aLanguage, description: aText }), 40, {
      distinct: ["language"],
    }),
    volumes: list("volumes", volume, 2_000, { key: "number", order: "number", distinct: ["number"] }),
    contributors: list("series_contributors", object({ contributor, role: orNull(aNameOrEmpty) }), 500, {
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
  // The stored size is that of the stored image.
  const object = { ...("image" in fields && { image_size: null }), ...rowOf(columns, fields) };
  const listed = lists.flatMap(({ field, key, ...list }) => {
    const given: unknown = Object(fields)[field];
    if (!Array.isArray(given)) return [];
    const elements = key === "position" ? [...new Set(given)] : given;
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
  const { schema, fields } = kinds[kind];
  const result = z.safeParse<(typeof kinds)[Kind]["schema"]>(schema, value);
  return result.success ? result.data : refusalOf(fields, result.error.issues[0]);
}

const isKind = (kind: unknown): kind is Kind => typeof kind === "string" && Object.hasOwn(kinds, kind);

function refusalOf(fields: Fields, issue?: z.core.$ZodIssue): Refusal {
  const path = issue?.path ?? [];
  if (issue?.code === "unrecognized_keys")
    return { field: quotation([...path, issue.keys[0]].join(".")), reason: "is no field of such a line" };
  return { field: path.join("."), reason: `expected ${expectationOf(fieldAt(fields, path))}` };
}
