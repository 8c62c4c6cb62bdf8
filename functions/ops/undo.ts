import { execute, integer } from "../../lib/data-api/client.ts";
import { Bucket } from "../../lib/images/store.ts";
import { refusal } from "../../lib/operators/refusal.ts";
import { repairFunction } from "../../lib/operators/repair-function.ts";
import { restoreFormerImages } from "../../lib/operators/undo/restore-former-images.ts";
import { undoResult, userIdOf } from "../../lib/operators/undo/undo.ts";
import { type UndoBatch, type UndoResult, undoBatch } from "../../lib/operators/undo/undo-result.ts";
import { toUndo } from "../../lib/queries/changes.ts";

/**
 * All editors wait during a call, which should end within the 8 s of an attempt, also on a busy machine. A change of a
 * user takes some 10 ms; one of an import may have 250 records, each of which takes some 2 ms. A dry run is one call.
 */
const changesPerCall = 100;
const importChangesPerCall = 1;
/** A run begins no call that might not end in time, and none whose result might exceed the 6 MB of Lambda. */
const reserveInMilliseconds = 30_000;
const resultLengthMax = 2_000_000;

/**
 * Takes back a change, or those of an import, or those of a user in a time, the newest first. What has been changed
 * again since is a conflict, and is left as it is, unless that is forced. Each call of the database takes back some
 * changes in one transaction; a run that breaks off is simply repeated.
 */
export const handler = repairFunction("ops/undo", async (input, { change, deadline }): Promise<UndoResult> => {
  const { change: only, import: imported, user, from = "", to = "", ...options } = input;
  const userId = user === undefined ? 0 : await userIdOf(user);
  const range = imported === undefined ? { user: userId, from, to } : { import: imported };
  const limit = imported === undefined ? changesPerCall : importChangesPerCall;
  const batches: UndoBatch[] = [];
  const next = async (before: number) => {
    if (only !== undefined) return batches.length === 0 ? [only] : [];
    return (await execute(toUndo(range, { before, limit }))).map((row) => integer(row, 0));
  };
  const undo = async (ids: readonly number[]) => {
    const images = options.dryRun
      ? { hasImages: Bucket !== undefined }
      : { images: await restoreFormerImages(ids, { change }) };
    const { result } = await change("undo_changes", {
      changes: ids,
      import: imported,
      user: userId,
      ...images,
      ...options,
    });
    return undoBatch.parse(result);
  };
  // An import that goes on would add changes behind those that are found now, so it ends first.
  if (imported !== undefined) await undo([]);
  let before = Number.MAX_SAFE_INTEGER;
  let newest: number | undefined;
  let length = 0;
  for (;;) {
    const ids = await next(before);
    newest ??= ids[0];
    if (ids.length === 0) return await undoResult(batches, true, deadline);
    if (options.dryRun && batches.length > 0) {
      throw refusal(
        `These are too many changes for a dry run, which can have ${limit}: ` +
          `narrow the time, or try the last one by itself, {"change": ${newest}}`,
      );
    }
    if (length > resultLengthMax || performance.now() > deadline - reserveInMilliseconds) {
      return await undoResult(batches, false, deadline);
    }
    const batch = await undo(ids);
    before = ids[batch.handled - 1] ?? before;
    batches.push(batch);
    length += JSON.stringify(batch).length;
  }
});
