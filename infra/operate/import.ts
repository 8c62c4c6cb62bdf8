import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { HeadObjectCommand } from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { plural } from "../../lib/operators/plural.ts";
import { otherFormat } from "../../lib/operators/transfer/file-format.ts";
import { type ImportReport, importReport } from "../../lib/operators/transfer/import-report.ts";
import { newCommand, runCommand } from "../command/command.ts";
import { eventOf } from "../command/event.ts";
import { print } from "../command/print.ts";
import {
  dataOption,
  expectAgreement,
  leavesSomething,
  resultOf,
  stageOption,
  targetOf,
  urlOption,
  yesOption,
} from "./invoke.ts";
import { resultInWords } from "./results-in-words.ts";
import { transferBucket } from "./transfer-bucket.ts";

export const command = newCommand("npm run import")
  .description(
    "Imports a catalogue. It may be stopped at any time: the same command goes on where it was. It ends with 1 if " +
      "lines were refused or left.",
  )
  .argument("<file>", "lines of JSON (lib/operators/README.md, Lines of a catalogue)")
  .option("--client <id>", "the only client whose records the file may add, edit and name; default: all")
  .option("--dry-run", "show what would happen, and change nothing")
  .option("--reason <text>", "of the import, for the ledger")
  .option("--by <name>", "your name, for the ledger")
  .addOption(stageOption)
  .addOption(yesOption)
  .addOption(urlOption)
  .addOption(dataOption);

const path = "ops/import";
/** So long does the function work between two reports. */
const seconds = 10;

/**
 * What tells a file from others, and how long it is.
 * @throws if it begins as no lines of JSON do
 */
async function measure(file: string) {
  const hash = createHash("sha256");
  let bytes = 0;
  let lines = 0;
  let last = newline;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    const reason = bytes === 0 ? otherFormat(chunk) : undefined;
    if (reason !== undefined) throw new Error(reason);
    hash.update(chunk);
    bytes += chunk.length;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) lines += 1;
    last = chunk.at(-1) ?? last;
  }
  return { bytes, lines: lines + (last === newline ? 0 : 1), digest: hash.digest("hex") };
}

const newline = 0x0a;

/** Uploads the file, unless it is there already, and returns where it is. */
async function upload(
  file: string,
  { bytes, digest }: Awaited<ReturnType<typeof measure>>,
  where: Parameters<typeof transferBucket>[0],
): Promise<string> {
  const { s3, bucket } = await transferBucket(where);
  const object = { ...bucket, Key: `imports/${digest}.jsonl` };
  const stored = await s3.send(new HeadObjectCommand(object)).catch(undefinedIfMissing);
  if (stored?.ContentLength !== bytes)
    await new Upload({ client: s3, params: { ...object, Body: createReadStream(file) } }).done();
  return `s3://${object.Bucket}/${object.Key}`;
}

function undefinedIfMissing(error: unknown): undefined {
  if (!(error instanceof Error && error.name === "NotFound")) throw error;
}

/** Writes over the last line of a terminal. */
const overwrite = (text: string) => process.stderr.isTTY && process.stderr.write(`\r\u001b[K${text}`);

if (import.meta.main) {
  process.once("SIGINT", () => {
    print("\nStopped. The same command goes on where it was.", process.stderr);
    process.exit(130);
  });
  await runCommand(
    command.action(async (file, { client, dryRun = false, reason, by, yes, ...where }) => {
      const payloadOf = (source: string) =>
        JSON.stringify({
          source,
          client: client && Number(client),
          reason,
          by,
          ...(dryRun ? { dryRun } : { seconds }),
        });
      await eventOf(path, payloadOf(file));
      const target = await targetOf(path, where);
      const measured = await measure(file);
      if (target.isProtected && !dryRun && !yes) await expectAgreement(target, { file, ...measured, reason, by });
      const payload = payloadOf(await upload(file, measured, where));
      let report: ImportReport;
      do {
        report = importReport.parse(await resultOf({ name: path, payload, yes: true, ...where }));
        overwrite(`${report.lines.toLocaleString("en")} of ${plural(measured.lines, "line")}`);
      } while (!report.isDone && !dryRun);
      overwrite("");
      print(resultInWords(path, report, { dryRun }) ?? "");
      if (leavesSomething(report)) process.exitCode = 1;
      if (report.refusedCount > 100 && where.stage !== undefined)
        print(`All of them: npm run logs -- --stage ${where.stage} --function ops/import --level warn --since 1d`);
    }),
  );
}
