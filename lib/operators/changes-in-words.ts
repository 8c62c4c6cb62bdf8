import * as z from "zod/mini";
import { counted, type Effect, effectInWords, effectSchema, type NameOf, recordInWords } from "./effects-in-words.ts";

const fields = z.record(z.string(), z.unknown());
type Fields = z.infer<typeof fields>;

/** A row of the ledger, as lib/queries/changes.ts selects it. */
export const ledgerRow = z.object({
  id: z.number(),
  at: z.string(),
  requestId: z.string(),
  endpoint: z.string(),
  userId: z.nullable(z.number()),
  username: z.nullable(z.string()),
  recordId: z.nullable(z.number()),
  records: z.nullable(z.array(z.string())),
  undoes: z.nullable(z.array(z.number())),
  undoneBy: z.nullable(z.number()),
  asked: z.nullable(fields),
  before: z.unknown(),
  answer: z.unknown(),
});
export type LedgerRow = z.infer<typeof ledgerRow>;

/** A change as operators read it. */
export interface ChangeInWords {
  readonly id: number;
  readonly at: string;
  /** The user's name at that time, null of a deleted user; or that of the operator, if they gave it. */
  readonly by: string | null;
  /** Null: an operator. */
  readonly userId: number | null;
  readonly endpoint: string;
  /** `contributor 5` */
  readonly record: string | null;
  /** What the record is called today, or what the change says that it was called. */
  readonly name: string | null;
  /** A line for each field, and for each element of a list. */
  readonly what: readonly string[];
  readonly undoneBy: number | null;
  readonly undoes: readonly number[] | null;
  readonly requestId: string;
  readonly reason: string | null;
}

/** Of a change with more, only their number is told, unless all is asked for. */
const linesMax = 50;
const effectsMax = 20;

/**
 * A row of the ledger in words.
 * @param isWhole whether all of it is told, however much that is
 */
export function changeInWords(row: LedgerRow, nameOf: NameOf, isWhole: boolean): ChangeInWords {
  const { id, at, endpoint, userId, undoneBy, undoes, requestId } = row;
  const effects = effectsOf(row);
  const records = recordsOf(row);
  const [record = ""] = records.length === 1 ? records : [];
  const { by = null, reason = null } = userId === null ? operatorOf(row) : { by: row.username };
  const what = whatOf(row, effects, nameOf, isWhole);
  return {
    id,
    at,
    by,
    userId,
    endpoint,
    record: record.replace("/", " ") || (records.length > 0 ? `${records.length} records` : null),
    name: record === "" ? null : (nameOf(record) ?? effects[0]?.name ?? null),
    what: isWhole || what.length <= linesMax ? what : [...what.slice(0, linesMax), moreThan(what)],
    undoneBy,
    undoes,
    requestId,
    reason,
  };
}

const moreThan = ({ length }: readonly string[]): string => `and ${length - linesMax} lines more`;

const operator = z.object({ by: z.optional(z.string()), reason: z.optional(z.string()) });
const operatorOf = ({ asked }: LedgerRow) => operator.safeParse(asked).data ?? {};

const kinds: Readonly<Record<string, string>> = {
  "admin-users": "user",
  "admin-roles": "role",
  "admin-permissions": "permission",
  "admin-contributors": "contributor",
  "ops/create-user": "user",
  "ops/issue-refresh-token": "user",
  "ops/link-identity": "user",
  "sign-in/callback": "user",
  "sign-out": "user",
};

/** The kind of a row's record, unless the row names its records. */
const kindOf = ({ endpoint }: LedgerRow): string | undefined => kinds[endpoint] ?? kinds[endpoint.split("/")[0] ?? ""];

/** `contributor/5` */
function recordsOf(row: LedgerRow): readonly string[] {
  const kind = kindOf(row);
  return row.records ?? (kind === undefined ? [] : [`${kind}/${row.recordId}`]);
}

const verbOf = ({ endpoint }: LedgerRow): string => endpoint.split("/").at(-1) ?? "";

const fieldsOf = (value: unknown): Fields => fields.safeParse(value).data ?? {};

/** What a row did to each record; nothing if the row does not have that. */
function effectsOf(row: LedgerRow): readonly Effect[] {
  const { recordId: id, asked, before, answer } = row;
  const record = kindOf(row);
  if (Array.isArray(before)) return z.array(effectSchema).parse(before);
  if (record === undefined || id === null) return [];
  const verb = verbOf(row);
  const edit = (after: Fields | null): Effect[] =>
    before === null ? [] : [{ record, id, did: "edit", before: fieldsOf(before), after }];
  if (verb === "add" || verb === "create-user") {
    const name = nameIn(fieldsOf(asked));
    return name === undefined ? [] : [{ record, id, name, did: "add" }];
  }
  if (verb === "edit") return edit(asked);
  if (verb === "update-avatar" || verb === "update-image") return edit({ image: fieldsOf(answer).image });
  if (verb === "delete-avatar" || verb === "delete-image") return edit({ image: null });
  if (verb !== "delete" || before === null) return [];
  const whole = fieldsOf(before);
  return [{ record, id, name: nameIn({ ...whole, ...fieldsOf(whole[record]) }), did: "delete", before: whole }];
}

const names = z.object({
  username: z.optional(z.string()),
  name: z.optional(z.string()),
  first_name: z.optional(z.string()),
  last_name: z.nullish(z.string()),
});

function nameIn(record: Fields): string | undefined {
  const { username, name, first_name: first, last_name: last } = names.safeParse(record).data ?? {};
  return username ?? name ?? (last ? `${first} ${last}` : first);
}

function whatOf(row: LedgerRow, effects: readonly Effect[], nameOf: NameOf, isWhole: boolean): readonly string[] {
  if (effects.length === 0) return withoutEffect(row, nameOf);
  if (effects.length > effectsMax && !isWhole) return countsOf(effects);
  const ofOne = recordsOf(row).length === 1;
  const lines = effects.flatMap((effect) => {
    const name = effect.name ?? nameOf(`${effect.record}/${effect.id}`);
    const begin = ofOne ? "" : `${recordInWords(effect.record, effect.id, name)}: `;
    const isEmptied = effect.did === "edit" && !effect.before;
    const own = ofOne ? effect : { ...effect, name: undefined };
    return (isEmptied ? ["edited; emptied since"] : effectInWords(own, nameOf)).map((line) => `${begin}${line}`);
  });
  return row.endpoint === "ops/create-user" ? [...lines, rolesOf(row), ...linksOf(row)] : lines;
}

/** `added: 1,200 contributors, 30 series` */
function countsOf(effects: readonly Effect[]): string[] {
  const done: Readonly<Record<Effect["did"], string>> = { add: "added", edit: "edited", delete: "deleted" };
  return [...Map.groupBy(effects, ({ did }) => did)].map(([did, all]) => {
    const counts = [...Map.groupBy(all, ({ record }) => record)].map(([record, { length }]) =>
      counted(length, record === "series" ? record : `${record}s`),
    );
    return `${done[did]}: ${counts.join(", ")}`;
  });
}

const roleNames = z.object({ roles: z.array(z.string()) });

function rolesOf({ asked }: LedgerRow): string {
  const { roles = [] } = roleNames.safeParse(asked).data ?? {};
  return roles.length === 0 ? "role given: the default role" : `roles given: ${roles.join(", ")}`;
}

const linked = z.object({ link: z.object({ issuer: z.string(), subject: z.optional(z.string()) }) });

/** The ledger has no e-mail addresses. */
function linksOf({ asked }: LedgerRow): readonly string[] {
  const { success, data } = linked.safeParse(asked);
  if (!success) return [];
  const { issuer, subject } = data.link;
  const link = subject === undefined ? "an e-mail address that is awaited" : `the subject "${subject}"`;
  return [`${fieldsOf(asked).remove === true ? "link taken" : "link given"}: ${link}, of ${issuer}`];
}

const signedIn = z.object({ issuer: z.string(), subject: z.string(), linked: z.boolean() });

function signInOf({ asked }: LedgerRow): string {
  const { success, data } = signedIn.safeParse(asked);
  if (!success) return "signed in";
  const { issuer, subject, linked } = data;
  return `signed in as "${subject}" of ${issuer}${linked ? ", linked by an awaited e-mail address" : ""}`;
}

const done: Readonly<Record<string, string>> = {
  add: "added",
  "create-user": "added",
  edit: "edited",
  delete: "deleted",
  "update-avatar": "image set",
  "update-image": "image set",
  "delete-avatar": "image removed",
  "delete-image": "image removed",
};

/** A change that replaced nothing, or whose content the ledger does not have any more. */
function withoutEffect(row: LedgerRow, nameOf: NameOf): readonly string[] {
  const { endpoint, asked, answer } = row;
  const verb = verbOf(row);
  const isOfUser = kindOf(row) === "user";
  const isDeletedUser = isOfUser && nameOf(`user/${row.recordId}`) === undefined;
  switch (endpoint) {
    case "admin-users/delete":
      return ["deleted; the ledger keeps only the ids of deleted users"];
    case "admin-users/logout":
      return ["logged out"];
    case "ops/issue-refresh-token":
      return [asked === null ? "session opened" : `session opened for ${fieldsOf(asked).days} days`];
    case "ops/link-identity":
      if (asked !== null) return linksOf(row);
      break;
    case "sign-in/callback":
      return [signInOf(row)];
    case "sign-out":
      return ["signed out"];
    case "ops/tidy":
      return [`deleted what was too old: ${tidiedIn(fieldsOf(answer))}`];
    case "ops/remove-images":
      return [`images deleted that no record has: ${answer}`];
    case "ops/migrate":
      return [`permissions of this service restored: ${answer}; the Administrator role has all of them`];
  }
  if (verb === "edit" && asked === null && !isDeletedUser) return ["changed nothing"];
  return [`${done[verb] ?? "changed"}; emptied since${isDeletedUser ? ", when the user was deleted" : ""}`];
}

/** Counts of what there is, not whether that is all. */
const tidiedIn = (answer: Fields): string =>
  Object.entries(answer)
    .flatMap(([what, count]) => (typeof count === "number" ? [`${count} ${what}`] : []))
    .join(", ");
