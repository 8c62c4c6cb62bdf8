import * as z from "zod/mini";
import { counted, type Effect, effectInWords, effectSchema, type NameOf, recordInWords } from "./effects-in-words.ts";
import { plural } from "./plural.ts";

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
  effects: z.array(effectSchema),
  asked: z.nullable(fields),
  before: z.optional(z.unknown()),
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
  const records = recordsOf(row);
  const [record = ""] = records.length === 1 ? records : [];
  const { by = null, reason = null } = userId === null ? operatorOf(row) : { by: row.username };
  const what = whatOf(row, nameOf, isWhole);
  return {
    id,
    at,
    by,
    userId,
    endpoint,
    record: record.replace("/", " ") || (records.length > 0 ? `${records.length} records` : null),
    name: record === "" ? null : (nameOf(record) ?? row.effects[0]?.name ?? null),
    what: isWhole || what.length <= linesMax ? what : [...what.slice(0, linesMax), moreThan(what)],
    undoneBy,
    undoes,
    requestId,
    reason,
  };
}

const moreThan = ({ length }: readonly string[]): string => `and ${plural(length - linesMax, "line")} more`;

const operator = z.object({ by: z.optional(z.string()), reason: z.optional(z.string()) });
const operatorOf = ({ asked }: LedgerRow) => operator.safeParse(asked).data ?? {};

const kinds: Readonly<Record<string, string>> = {
  "admin-users": "user",
  "admin-roles": "role",
  "admin-permissions": "permission",
  "admin-contributors": "contributor",
  "ops/create-user": "user",
  "ops/end-sessions": "user",
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

function whatOf(row: LedgerRow, nameOf: NameOf, isWhole: boolean): readonly string[] {
  const { effects, records } = row;
  const [first] = effects;
  if (!first || (records === null && isEmptied(first))) return withoutEffect(row, nameOf);
  if (effects.length > effectsMax && !isWhole) return countsOf(effects);
  const ofOne = recordsOf(row).length === 1;
  return effects.flatMap((effect) => {
    const name = effect.name ?? nameOf(`${effect.record}/${effect.id}`);
    const begin = ofOne ? "" : `${recordInWords(effect.record, effect.id, name)}: `;
    const own = ofOne ? effect : { ...effect, name: undefined };
    return (isEmptied(effect) ? [`${done[effect.did]}; emptied since`] : effectInWords(own, nameOf)).map(
      (line) => `${begin}${line}`,
    );
  });
}

/** Whether the ledger does not have any more what an edit or a deletion replaced. */
const isEmptied = ({ did, before }: Effect): boolean => did !== "add" && !before;

/** `added: 1,200 contributors, 30 series` */
function countsOf(effects: readonly Effect[]): string[] {
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
    case "ops/create-user":
      if (asked !== null) return [`added: ${asked.username}`, rolesOf(row), ...linksOf(row)];
      break;
    case "ops/end-sessions":
      return ["all sessions ended"];
    case "ops/issue-refresh-token":
      return [asked === null ? "session opened" : `session opened for ${plural(Number(fieldsOf(asked).days), "day")}`];
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
