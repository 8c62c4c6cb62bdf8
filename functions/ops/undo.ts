import { execute } from "../../lib/data-api/client.ts";
import { integer } from "../../lib/data-api/read.ts";
import { Bucket } from "../../lib/images/bucket.ts";
import { restoreFormerImages } from "../../lib/images/restore-former.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";
import { handledBy, type UndoAnswer, undoAnswer, userIdOf } from "../../lib/operators/undo.ts";
import * as changes from "../../lib/queries/changes.ts";

const changesPerCall = 100;
/** In one call, which should end within the 8 s of an attempt; each takes some 10 ms. */
const dryRunMax = 300;
/** A run begins no call that might not end in time, and none whose answer might exceed the 6 MB of Lambda. */
const reserveInMilliseconds = 30_000;
const answerLengthMax = 2_000_000;

/**
 * Takes back a change, or those of a user in a time, the newest first. What has been changed again since is a conflict,
 * and is left as it is, unless that is forced. Each call of the database takes back up to a hundred changes in one
 * transaction; a run that breaks off is simply repeated.
 */
export const handler = operatorFunction(
  "ops/undo",
  async ({ change: only, user, from, to, ...options }, { change, deadline }): Promise<UndoAnswer> => {
    const undo = async (ids: readonly number[], request: object) => {
      const images = options.dryRun
        ? { hasImages: Bucket !== undefined }
        : { images: await restoreFormerImages(ids, { change }) };
      const { status, answer } = await change("undo_changes", { changes: ids, ...images, ...request, ...options });
      if (status !== 200) throw new Error(String(answer));
      return answer;
    };
    if (only !== undefined || user === undefined || from === undefined || to === undefined) {
      return await undoAnswer([await undo([only ?? 0], { change: only })], true);
    }

    const request = { user: await userIdOf(user), from, to };
    const next = async (before: number, limit: number) =>
      (await execute(changes.toUndo(request.user, { from, to, before, limit }))).map((row) => integer(row, 0));
    let before = Number.MAX_SAFE_INTEGER;
    if (options.dryRun) {
      const ids = await next(before, dryRunMax + 1);
      const answer = ids.length > dryRunMax ? undefined : await undo(ids, request);
      if (answer && handledBy(answer) === ids.length) return await undoAnswer([answer], true);
      throw new Error(`These are too many changes for a dry run, which can have ${dryRunMax}: narrow the time`);
    }
    const answers: unknown[] = [];
    let length = 0;
    for (;;) {
      const ids = await next(before, changesPerCall);
      if (ids.length === 0) return await undoAnswer(answers, true);
      if (length > answerLengthMax || performance.now() > deadline - reserveInMilliseconds) {
        return await undoAnswer(answers, false);
      }
      const answer = await undo(ids, request);
      before = ids[handledBy(answer) - 1] ?? before;
      answers.push(answer);
      length += JSON.stringify(answer).length;
    }
  },
);
