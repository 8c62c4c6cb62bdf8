import { declared, fieldsOf, plainTypes, type Schema, typeOf } from "./types.ts";

/** A list, and the type that its answer has in the client. */
export interface List {
  readonly name: string;
  readonly item: string;
  /** The field that has the records. Without one the answer is an array. */
  readonly field: string | undefined;
  readonly schema: Schema;
}

/** What is the same of the answers of all lists, and of the queries of all lists. */
const ofPages = ["max", "from", "to"];
const ofPageQueries = ["limit", "offset", "search"];

/** The list that an endpoint answers with this schema; its type is named after the records. */
export function listOf(schema: Schema): List | undefined {
  const [field, records = schema] = Object.entries(schema.properties ?? {})[0] ?? [];
  if (records.type !== "array" || !records.items) return undefined;
  const item = typeOf(records.items);
  return { name: `${item.replace(/ListItem$/, "")}List`, item, field, schema };
}

const only = (fields: Schema["properties"], names: readonly string[], isIn: boolean) =>
  Object.fromEntries(Object.entries(fields ?? {}).filter(([name]) => names.includes(name) === isIn));

/** The types of lists, and of what their answers have in common. */
export function listTypes(lists: readonly List[]): string[] {
  const paged = lists.filter(({ field }) => field);
  const page = fieldsOf(only(paged[0]?.schema.properties, ofPages, true), ofPages);
  return [
    declared("Page", "What a list says of the records that it gives.", page),
    ...[...new Map(lists.map((each) => [each.name, each])).values()].map(({ name, item, field, schema }) =>
      field
        ? declared(name, "", fieldsOf(only(schema.properties, ofPages, false), schema.required), "Page")
        : `export type ${name} = ${item}[];\n`,
    ),
  ];
}

/** The type of an endpoint's query. */
export function queryType(name: string, { properties = {}, required }: Schema): string {
  const isPaged = ofPageQueries.every((each) => each in properties);
  const fields = fieldsOf(isPaged ? only(properties, ofPageQueries, false) : properties, required);
  return declared(name, "", fields, isPaged ? "PageQuery" : "");
}

/** The type of what the queries of lists have in common. */
export const pageQueryType = (queries: readonly Schema[]): string => {
  const properties = queries.find((each) => ofPageQueries.every((name) => name in (each.properties ?? {})))?.properties;
  return declared(
    "PageQuery",
    "Which records of a list are asked for.",
    fieldsOf(only(properties, ofPageQueries, true)),
  );
};

/** The types of the records that endpoints answer, by the names of the document's components. */
export const recordTypes = (schemas: Readonly<Record<string, Schema>>): string[] =>
  Object.entries(schemas)
    .filter(([name]) => !(name in plainTypes))
    .map(([name, schema]) =>
      schema.type === "object"
        ? recordType(name, schema, schemas)
        : `/** ${schema.description ?? name} */\nexport type ${name} = ${typeOf(schema)};\n`,
    );

/** The type of a record; it extends that of another one, all of whose fields it has. Few are the same by chance. */
function recordType(name: string, { properties = {}, required }: Schema, schemas: Readonly<Record<string, Schema>>) {
  const has = (other: Schema["properties"] = {}) =>
    Object.keys(other).length > 3 &&
    Object.entries(other).every(([field, schema]) => JSON.stringify(properties[field]) === JSON.stringify(schema));
  const [base = "", { properties: inherited } = {}] =
    Object.entries(schemas).find(([other, { properties: theirs }]) => other !== name && theirs && has(theirs)) ?? [];
  return declared(name, "", fieldsOf(only(properties, Object.keys(inherited ?? {}), false), required), base);
}
