import { Readable } from "node:stream";
import { transaction } from "../../lib/data-api/transaction.ts";
import { noProgress, readLines } from "../../lib/operators/export-lines.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";
import { upload } from "../../lib/operators/upload.ts";

/** After the last statement for the last parts of the upload. */
const uploadReserveInMilliseconds = 30_000;

/**
 * Writes the catalogue, or what belongs to a client's website, to a file in S3 that an import accepts: unpublished
 * contributors, too, as everything was at one moment. Nothing is there before the file is complete.
 */
export const handler = operatorFunction("ops/export", async ({ client, target = newTarget(client) }, { deadline }) => {
  const progress = noProgress();
  await transaction(async (send) => {
    const lines = readLines(send, client, progress, deadline - uploadReserveInMilliseconds);
    try {
      await upload(target, Readable.from(lines));
    } finally {
      // A statement that still runs would keep the transaction from ending.
      await lines.return();
    }
  });
  return { target, ...progress };
});

function newTarget(client: number | undefined): string {
  const time = new Date().toISOString().replaceAll(":", "-");
  return `s3://${process.env.TRANSFER_BUCKET}/exports/${client === undefined ? "all" : `client-${client}`}-${time}.jsonl`;
}
