import { execute, integer } from "../../data-api/client.ts";
import * as changes from "../../queries/changes.ts";
import { refusal } from "../refusal.ts";
import { rowsInWords } from "./changes-in-words.ts";
import { readNames } from "./record-names.ts";
import type { UndoBatch, UndoResult } from "./undo-result.ts";

/** Puts the results of several calls together, with the names of records. */
export const undoResult = (batches: readonly UndoBatch[], isDone: boolean, deadline: number): Promise<UndoResult> =>
  readNames(
    (nameOf) => ({
      change: batches.findLast((batch) => batch.change !== undefined)?.change,
      undone: batches.flatMap((batch) =>
        batch.undone.map(({ rows, ...each }) => ({
          ...each,
          undoneBy: batch.change,
          what: rowsInWords(rows, nameOf),
        })),
      ),
      refused: batches.flatMap((batch) => batch.refused),
      isDone,
    }),
    deadline,
  );

/**
 * The id of a user, named by the id or by a name.
 * @throws unless it belongs to one user
 */
export async function userIdOf(user: string | number): Promise<number> {
  const ids = (await execute(changes.usersCalled(user))).map((row) => integer(row, 0));
  const [id] = ids;
  if (id === undefined) throw refusal(`There is no user ${user}, nor was there one who changed something`);
  if (ids.length > 1) throw refusal(`Several users have been called ${user}: give an id, ${ids.join(" or ")}`);
  return id;
}
