import { Readable } from "node:stream";
import { S3Client } from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { timeouts } from "../../lib/aws/retry.ts";
import { transaction } from "../../lib/data-api/transaction.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";
import { noProgress, readLines } from "../../lib/operators/transfer/export-lines.ts";

const s3 = new S3Client({ requestHandler: timeouts });

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
      // It is uploaded in parts. After an error they are deleted.
      const [, Bucket, Key] = /^s3:\/\/([^/]+)\/(.+)$/.exec(target) ?? [];
      const params = { Bucket, Key, Body: Readable.from(lines), ContentType: "application/x-ndjson" };
      await new Upload({ client: s3, params }).done();
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
