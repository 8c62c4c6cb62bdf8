import * as z from "zod/mini";
import { excerpt, excerpts } from "./excerpts.ts";

const fields = z.record(z.string(), z.unknown());
type Fields = z.infer<typeof fields>;

/** What a change did to one record (lib/changes/README.md, "Effects"). */
export const effectSchema = z.object({
  record: z.string(),
  id: z.number(),
  name: z.nullish(z.string()),
  did: z.enum(["add", "edit", "delete"]),
  before: z.nullish(fields),
  after: z.nullish(fields),
  /** The change that was taken back by it. */
  undoes: z.optional(z.number()),
});
export type Effect = z.infer<typeof effectSchema>;

/** What a record is called today, by `contributor/5`; undefined if that is not known. */
export type NameOf = (record: string) => string | undefined;

/** `contributor 5 (Osamu Tezuka)` */
export function recordInWords(record: string, id: number, name: string | null | undefined): string {
  return name ? `${record} ${id} (${name})` : `${record} ${id}`;
}

/** What an effect did to its record: a line for each field and each element of a list. */
export function effectInWords({ record, did, name, before, after, undoes }: Effect, nameOf: NameOf): string[] {
  if (did === "add") {
    const added = undoes === undefined ? "added" : "brought back";
    return [`${added}${name ? `: ${name}` : ""}${wholeInWords(record, after ?? {}, "given to")}`];
  }
  if (did === "delete") return [`deleted${wholeInWords(record, before ?? {}, "taken from")}`];
  if (!before) return ["edited"];
  const lines = editInWords(before, after ?? {}, nameOf);
  return lines.length > 0 ? lines : ["changed nothing"];
}

/** What one and several elements of a list are called. */
const nouns: Readonly<Record<string, readonly [one: string, several: string]>> = {
  aliases: ["alias", "aliases"],
  descriptions: ["description", "descriptions"],
  links: ["link", "links"],
  relations: ["relation", "relations"],
  incoming_relations: ["relation of others", "relations of others"],
  series: ["series", "series"],
  contributors: ["contributor", "contributors"],
  publishers: ["publisher", "publishers"],
  tags: ["tag", "tags"],
  volumes: ["volume", "volumes"],
  slugs: ["former slug", "former slugs"],
  former_slugs: ["former slug", "former slugs"],
  roles: ["role", "roles"],
  permissions: ["permission", "permissions"],
  users: ["user", "users"],
  clients: ["client", "clients"],
};

const nounsOf = (list: string): readonly [one: string, several: string] =>
  nouns[list] ?? [list.replaceAll("_", " "), list.replaceAll("_", " ")];

/** `12 aliases` */
export const counted = (count: number, list: string): string =>
  `${count.toLocaleString("en")} ${nounsOf(list)[count === 1 ? 0 : 1]}`;

/** `, with 12 aliases, 3 links`: what belongs to a whole record. */
function partsOf(record: Fields): string {
  const parts = countsOf(record);
  return parts.length > 0 ? `, with ${parts.join(", ")}` : "";
}

const countsOf = (record: Fields): string[] =>
  Object.entries(record).flatMap(([list, elements]) =>
    Array.isArray(elements) && elements.length > 0 ? [counted(elements.length, list)] : [],
  );

/** What has a record without belonging to it. */
const owners: Readonly<Record<string, string>> = {
  role: "users",
  permission: "roles",
  contributor: "series",
  publisher: "series",
};

/** `, with 12 aliases; taken from 40 series`. That of a role or a permission has the record beside its owners. */
function wholeInWords(record: string, effect: Fields, verb: string): string {
  const list = owners[record] ?? "";
  const { [list]: all, defaulted, ...own } = { ...effect, ...fields.safeParse(effect[record]).data };
  const owned = countsOf({ [list]: all }).map((count) => `; ${verb} ${count}`);
  const last = listOf(defaulted).length > 0 ? `, of whom ${listOf(defaulted).length} got the default role` : "";
  return `${partsOf(own)}${owned.join("")}${last}`;
}

/** The order of what an edit changed: fields as forms have them, links, and then lists. */
const fieldOrder = ["first_name", "last_name", "name", "username", "description", "gender", "type", "public", "image"];
const listOrder = Object.keys(nouns);

function placeOf(field: string): number {
  const list = listOrder.indexOf(field.replace(/^(added|removed|modified)_/, ""));
  if (list >= 0) return fieldOrder.length + 1 + list;
  const place = fieldOrder.indexOf(field);
  return place < 0 ? fieldOrder.length : place;
}

const editInWords = (before: Fields, after: Fields, nameOf: NameOf): string[] =>
  Object.entries(before)
    .toSorted(([one], [other]) => placeOf(one) - placeOf(other))
    .flatMap(([field, former]) => fieldInWords(field, former, after, nameOf));

function fieldInWords(field: string, former: unknown, after: Fields, nameOf: NameOf): string[] {
  const [, did, list = ""] = /^(added|removed|modified)_(\w+)$/.exec(field) ?? [];
  const latest = after[field];
  if (field === "links") return linksInWords(listOf(former), listOf(latest));
  if (did === "modified") return modifiedInWords(list, listOf(former), listOf(latest), nameOf);
  if (did === "added" || did === "removed") {
    const elements = did === "added" && !isReference(list) && Array.isArray(latest) ? latest : listOf(former);
    return elementsInWords(list, did, elements, nameOf);
  }
  if (Array.isArray(former)) return listInWords(field, former, listOf(latest), nameOf);
  if (field === "image") return [imageInWords(former, latest)];
  return [`${field}: ${valuesInWords(former, latest, field in after)}`];
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** `"Osam" → "Osamu"` */
function valuesInWords(former: unknown, latest: unknown, isKnown = true): string {
  if (!isKnown) return `was ${valueInWords(former)}`;
  if (typeof former === "string" && typeof latest === "string") return excerpts(former, latest);
  return `${valueInWords(former)} → ${valueInWords(latest)}`;
}

function valueInWords(value: unknown): string {
  if (value === null || value === undefined) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? excerpt(value) : JSON.stringify(value);
}

/** Images have keys that tell nothing; the former one is needed to bring it back. */
function imageInWords(former: unknown, latest: unknown): string {
  if (former === null) return "image added";
  return `image ${latest === null ? "removed" : "replaced"}, was ${former}`;
}

/** A number among the former links stands for the link that is now at this place. */
function linksInWords(former: readonly unknown[], latest: readonly unknown[]): string[] {
  const now = [...new Set(latest)];
  const then = former.map((link) => (typeof link === "number" ? now[link] : link));
  const kept = then.filter((link) => now.includes(link));
  const isReordered = now.filter((link) => then.includes(link)).some((link, at) => link !== kept[at]);
  return [
    ...then.filter((link) => !now.includes(link)).map((link) => `link removed: ${link}`),
    ...now.filter((link) => !then.includes(link)).map((link) => `link added: ${link}`),
    ...(isReordered ? ["links: in another order"] : []),
  ];
}

/** Lists whose elements are other records, by the record's kind. */
const references: Readonly<Record<string, string>> = {
  roles: "role",
  permissions: "permission",
  users: "user",
  series: "series",
  contributors: "contributor",
  publishers: "publisher",
  tags: "tag",
};
const isReference = (list: string): boolean => Object.hasOwn(references, list);

const given: Readonly<Record<"added" | "removed", string>> = { added: "given", removed: "taken" };
const isAuthority = (list: string): boolean => list === "roles" || list === "permissions";

const referencesMax = 10;

/** `alias added: "God of Manga"`; of references one line: `roles given: Editor (3), Reader (2)`. */
function elementsInWords(
  list: string,
  did: "added" | "removed",
  elements: readonly unknown[],
  nameOf: NameOf,
): string[] {
  if (elements.length === 0) return [];
  const verb = isAuthority(list) ? given[did] : did;
  const [one, several] = nounsOf(list);
  if (!isReference(list)) return elements.map((each) => elementInWords(`${one} ${verb}`, each, nameOf));
  const shown = elements.slice(0, referencesMax).map((each) => referenceInWords(list, each, nameOf));
  const rest = elements.length - shown.length;
  const more = rest > 0 ? ` and ${rest.toLocaleString("en")} more` : "";
  return [`${elements.length === 1 ? one : several} ${verb}: ${shown.join(", ")}${more}`];
}

const element = z.looseObject({
  id: z.optional(z.number()),
  name: z.optional(z.string()),
  title: z.optional(z.string()),
  language: z.optional(z.string()),
  description: z.optional(z.string()),
  relation_id: z.optional(z.number()),
  relation_type: z.optional(z.string()),
  type: z.optional(z.string()),
});

const elementOf = (value: unknown): z.infer<typeof element> => element.safeParse(value).data ?? {};

/** An id, or an object that has it. */
const idOf = (value: unknown): number | undefined => (typeof value === "number" ? value : elementOf(value).id);

/** A place that a conflict names: a field, `aliases/12` for an element, or `*` for all of the record. */
export function placeInWords(place: string): string {
  const [list = "", id] = place.split("/");
  if (place === "*") return "the record";
  return id === undefined ? place : `${nounsOf(list)[0]} ${id}`;
}

/** What is there now: `alias 12: "God of Manga"`. */
export function foundInWords(place: string, value: unknown): string {
  const begin = placeInWords(place);
  if (place.includes("/") && (value === null || value === undefined)) return `${begin}: gone`;
  return typeof value === "object" && value !== null
    ? elementInWords(begin, value, () => undefined)
    : `${begin}: ${valueInWords(value)}`;
}

function elementInWords(begin: string, value: unknown, nameOf: NameOf): string {
  if (typeof value === "string") return `${begin}: ${excerpt(value)}`;
  const {
    name,
    title = name,
    language,
    description,
    relation_id: other,
    relation_type,
    type = relation_type,
  } = elementOf(value);
  const start = language === undefined ? begin : `${begin} (${language})`;
  if (description !== undefined) return `${start}: ${excerpt(description)}`;
  if (title !== undefined) return `${start}: ${excerpt(title)}`;
  if (other !== undefined) return `${begin}: ${relationInWords(other, nameOf)}, ${valueInWords(type)}`;
  return `${begin}: ${valueInWords(value)}`;
}

const relationInWords = (id: number, nameOf: NameOf): string =>
  recordInWords("contributor", id, nameOf(`contributor/${id}`));

/** `Editor (3)` */
function referenceInWords(list: string, value: unknown, nameOf: NameOf): string {
  const id = idOf(value);
  if (id === undefined) return typeof value === "string" ? value : valueInWords(value);
  const name = nameOf(`${references[list]}/${id}`) ?? elementOf(value).name;
  return name === undefined ? `${id}` : `${name} (${id})`;
}

/** `description 12 (German): source "" → "https://…"` */
function modifiedInWords(
  list: string,
  former: readonly unknown[],
  latest: readonly unknown[],
  nameOf: NameOf,
): string[] {
  const [one] = nounsOf(list);
  return former.flatMap((value) => {
    const { id = 0, ...old } = elementOf(value);
    const now = elementOf(latest.find((each) => idOf(each) === id));
    const language = old.language === undefined ? now.language : undefined;
    const name = isReference(list) ? nameOf(`${references[list]}/${id}`) : language;
    return Object.entries(old).map(([field, was]) => {
      const text =
        field === "relation_id" ? otherInWords(was, now[field], nameOf) : valuesInWords(was, now[field], field in now);
      const isItself = field === "relation_id" || field === one;
      return `${recordInWords(one, id, name)}: ${isItself ? "" : `${field} `}${text}`;
    });
  });
}

/** Whom a relation led to, and whom it leads to now. */
const otherInWords = (former: unknown, latest: unknown, nameOf: NameOf): string =>
  [former, latest].flatMap((id) => (typeof id === "number" ? [relationInWords(id, nameOf)] : [])).join(" → ");

/** A list that is kept whole: its elements are known by their ids, or else by what they are. */
function listInWords(list: string, former: readonly unknown[], latest: readonly unknown[], nameOf: NameOf): string[] {
  const keyOf = (value: unknown) => idOf(value) ?? JSON.stringify(value);
  const then = new Map(former.map((each) => [keyOf(each), each]));
  const now = new Map(latest.map((each) => [keyOf(each), each]));
  const changed = former.flatMap((each) => {
    const other = now.get(keyOf(each));
    return other === undefined || typeof each !== "object" ? [] : [differenceOf(each, other)];
  });
  return [
    ...elementsInWords(
      list,
      "removed",
      former.filter((each) => !now.has(keyOf(each))),
      nameOf,
    ),
    ...modifiedInWords(list, changed, latest, nameOf),
    ...elementsInWords(
      list,
      "added",
      latest.filter((each) => !then.has(keyOf(each))),
      nameOf,
    ),
  ];
}

/** The id of an element, and the former values of its fields that have changed. */
function differenceOf(former: unknown, latest: unknown): Fields {
  const [then, now] = [elementOf(former), elementOf(latest)];
  const changed = Object.entries(then).filter(
    ([field, was]) => field === "id" || JSON.stringify(was) !== JSON.stringify(now[field]),
  );
  return Object.fromEntries(changed);
}
