import { execute, integer } from "../../lib/data-api/client.ts";
import { Bucket } from "../../lib/images/store.ts";
import { repairFunction } from "../../lib/operators/repair-function.ts";
import { restoreFormerImages } from "../../lib/operators/undo/restore-former-images.ts";
import { undoResult, userIdOf } from "../../lib/operators/undo/undo.ts";
import { type UndoBatch, type UndoResult, undoBatch } from "../../lib/operators/undo/undo-result.ts";
import { toUndo } from "../../lib/queries/changes.ts";

/** A call handles as many of these as its time permits, while all editors wait (lib/changes/undo-changes.sql). */
const changesPerCall = 100;
/** A run begins no call that might not end in time, and none whose result might exceed the 6 MB of Lambda. */
const reserveInMilliseconds = 30_000;
const resultLengthMax = 2_000_000;

/**
 * Takes back a change, or those of an import, or those of a user in a time, the newest first. Each call of the database
 * takes back some changes in one transaction; a run that breaks off is simply repeated. A dry run is one call.
 */
export const handler = repairFunction("ops/undo", async (input, { change, deadline }): Promise<UndoResult> => {
  const { change: only, import: imported, user, from = "", to = "", ...options } = input;
  const userId = user === undefined ? 0 : await userIdOf(user);
  const range = imported === undefined ? { user: userId, from, to } : { import: imported };
  const batches: UndoBatch[] = [];
  const next = async (before: number) => {
    if (only !== undefined) return batches.length === 0 ? [only] : [];
    return (await execute(toUndo(range, { before, limit: changesPerCall }))).map((row) => integer(row, 0));
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
  let length = 0;
  for (;;) {
    const ids = await next(before);
    if (ids.length === 0) return await undoResult(batches, true, deadline);
    const isOver = options.dryRun && batches.length > 0;
    if (isOver || length > resultLengthMax || performance.now() > deadline - reserveInMilliseconds) {
      return await undoResult(batches, false, deadline);
    }
    const batch = await undo(ids);
    before = ids[batch.handled - 1] ?? before;
    batches.push(batch);
    length += JSON.stringify(batch).length;
  }
});
