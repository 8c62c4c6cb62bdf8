import type * as z from "zod/mini";
import { execute } from "../data-api/client.ts";
import { integer } from "../data-api/read.ts";
import * as changes from "../queries/changes.ts";
import { rowsInWords } from "./changes-in-words.ts";
import { readNames } from "./record-names.ts";
import { refusal } from "./refusal.ts";
import type { namedChange, UndoBatch } from "./undo-answer.ts";

type Named<Value> = Value & { readonly username: string | null };
type Conflict = Omit<UndoBatch["conflicts"][number], "later"> & {
  readonly later: Named<z.output<typeof namedChange>> | null;
};

/** What was undone, and what was not. Users have their present names; null: no user, or a deleted one. */
export interface UndoAnswer {
  /** The last row that was added to the ledger; without one nothing was undone, or this was a dry run. */
  readonly change?: number | undefined;
  /** The changes that were undone, newest first. `undoneBy` is the row that did it, and `what` it did, in words. */
  readonly undone: readonly (Named<z.output<typeof namedChange>> & {
    readonly undoneBy?: number | undefined;
    readonly what: readonly string[];
    readonly overridden: readonly Conflict[];
    readonly leftOut: readonly Conflict[];
  })[];
  /** What was changed again since. The changes with a conflict are left as they are. */
  readonly conflicts: readonly Conflict[];
  /** The changes that cannot be undone, even with `force`. */
  readonly refused: UndoBatch["refused"];
  /** False if some changes are left: the same payload goes on. */
  readonly isDone: boolean;
}

/** Puts the answers of several calls together, with the names of records. */
export const undoAnswer = (batches: readonly UndoBatch[], isDone: boolean, deadline: number): Promise<UndoAnswer> =>
  readNames((nameOf) => {
    const named = <Value extends { readonly userId: number | null }>(value: Value): Named<Value> => ({
      ...value,
      username: (value.userId !== null && nameOf(`user/${value.userId}`)) || null,
    });
    const conflict = (each: UndoBatch["conflicts"][number]): Conflict => ({
      ...each,
      later: each.later && named(each.later),
    });
    return {
      change: batches.findLast((batch) => batch.change !== undefined)?.change,
      undone: batches.flatMap((batch) =>
        batch.undone.map(({ rows, overridden, leftOut, ...each }) => ({
          ...named(each),
          undoneBy: batch.change,
          what: rowsInWords(rows, nameOf),
          overridden: overridden.map(conflict),
          leftOut: leftOut.map(conflict),
        })),
      ),
      conflicts: batches.flatMap((batch) => batch.conflicts.map(conflict)),
      refused: batches.flatMap((batch) => batch.refused),
      isDone,
    };
  }, deadline);

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
