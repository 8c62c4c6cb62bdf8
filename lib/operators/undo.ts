import * as z from "zod/mini";
import { execute } from "../data-api/client.ts";
import { integer, text } from "../data-api/read.ts";
import * as changes from "../queries/changes.ts";
import { refusal } from "./refusal.ts";
import type { namedChange, UndoBatch } from "./undo-answer.ts";

type Named<Value> = Value & { readonly username: string | null };
type Conflict = Omit<UndoBatch["conflicts"][number], "later"> & {
  readonly later: Named<z.output<typeof namedChange>> | null;
};

/** What was undone, and what was not. Users have their present names; null: an operator, or a deleted user. */
export interface UndoAnswer {
  /** The last row that was added to the ledger; without one nothing was undone, or this was a dry run. */
  readonly change?: number | undefined;
  /** The changes that were undone, newest first. `undoneBy` is the row that did it. */
  readonly undone: readonly (Named<Omit<UndoBatch["undone"][number], "overridden">> & {
    readonly undoneBy?: number | undefined;
    readonly overridden: readonly Conflict[];
  })[];
  /** What was changed again since. The changes with a conflict are left as they are. */
  readonly conflicts: readonly Conflict[];
  /** The changes that cannot be undone, even with `force`. */
  readonly refused: UndoBatch["refused"];
  /** False if some changes are left: the same payload goes on. */
  readonly isDone: boolean;
}

/** Puts the answers of several calls together, and names the users. */
export async function undoAnswer(batches: readonly UndoBatch[], isDone: boolean): Promise<UndoAnswer> {
  const all = <Key extends "undone" | "conflicts" | "refused">(key: Key): UndoBatch[Key][number][] =>
    batches.flatMap((batch): UndoBatch[Key][number][] => batch[key]);
  const overridden = all("undone").flatMap((each) => each.overridden);
  const later = [...all("conflicts"), ...overridden].map((each) => each.later);
  const usernames = await namesOf([...all("undone"), ...later].map((each) => each?.userId));
  const named = <Value extends { readonly userId: number | null }>(value: Value): Named<Value> => ({
    ...value,
    username: usernames[`user/${value.userId}`] ?? null,
  });
  const ofConflict = (each: UndoBatch["conflicts"][number]): Conflict => ({
    ...each,
    later: each.later && named(each.later),
  });
  return {
    change: batches.findLast((batch) => batch.change !== undefined)?.change,
    undone: batches.flatMap((batch) =>
      batch.undone.map((each) => ({
        ...named(each),
        undoneBy: batch.change,
        overridden: each.overridden.map(ofConflict),
      })),
    ),
    conflicts: all("conflicts").map(ofConflict),
    refused: all("refused"),
    isDone,
  };
}

/** Without what was done to each record: an import has thousands of changes, with hundreds of records each. */
export const withoutEffects = (batch: UndoBatch): UndoBatch => ({
  ...batch,
  undone: batch.undone.map((each) => ({ ...each, effects: [] })),
});

/** The names of users by `user/5`. */
async function namesOf(users: readonly (number | null | undefined)[]): Promise<Readonly<Record<string, string>>> {
  const records = [...new Set(users)].flatMap((id) => (typeof id === "number" ? [`user/${id}`] : []));
  const [row] = records.length > 0 ? await execute(changes.namesOf(records)) : [];
  return row ? z.parse(z.record(z.string(), z.string()), JSON.parse(text(row, 0))) : {};
}

/**
 * The id of a user, who is given by it or by a name.
 * @throws unless it belongs to one user
 */
export async function userIdOf(user: string | number): Promise<number> {
  if (typeof user === "number") {
    const [known] = await execute(changes.isUser(user));
    if (!known) throw refusal(`There is no user ${user}, nor was there one who changed something`);
    return user;
  }
  const ids = (await execute(changes.usersNamed(user))).map((row) => integer(row, 0));
  const [id] = ids;
  if (id === undefined) throw refusal(`There is no user ${user}, nor was there one who changed something`);
  if (ids.length > 1) throw refusal(`Several users have been called ${user}: give an id, ${ids.join(" or ")}`);
  return id;
}
