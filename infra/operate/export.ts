import { createWriteStream } from "node:fs";
import { access, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { GetObjectCommand } from "@aws-sdk/client-s3";
import * as z from "zod/mini";
import { plural } from "../../lib/operators/plural.ts";
import { newCommand, runCommand } from "../command/command.ts";
import { print } from "../command/print.ts";
import { dataOption, resultOf, stageOption, urlOption } from "./invoke.ts";
import { transferBucket } from "./transfer-bucket.ts";

export const command = newCommand("npm run export")
  .description("Exports the catalogue, as lines of JSON.")
  .option("--client <id>", "what belongs to this client's website, by its id; default: everything")
  .addOption(stageOption)
  .option("--out <file>", "write to this file, which is there when it is complete; default: standard output")
  .addOption(urlOption)
  .addOption(dataOption);

const resultSchema = z.object({
  target: z.string(),
  bytes: z.number(),
  lines: z.record(z.string(), z.number()),
  skipped: z.number(),
});

/** @throws if there is a directory of this name, or none for the file */
async function expectWritable(file: string): Promise<void> {
  await access(dirname(file));
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory()) throw new Error(`${file} is a directory, not a file`);
}

/** A file that is there is whole: until then it has another name. */
async function writeFile(body: Readable, file: string): Promise<void> {
  const draft = `${file}.${process.pid}`;
  try {
    await pipeline(body, createWriteStream(draft, { flags: "wx" }) as Writable);
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Standard output has the catalogue. */
const report = (line: string) => print(line, process.stderr);

if (import.meta.main) {
  await runCommand(
    command.action(async ({ client, out, ...where }) => {
      const payload = JSON.stringify({ client: client && Number(client) });
      if (out !== undefined) await expectWritable(out);
      report("ops-export reads the catalogue");
      const result = await resultOf({ name: "ops/export", payload, ...where });
      const { target, bytes, lines, skipped } = z.parse(resultSchema, result);
      const count = Object.values(lines).reduce((sum, each) => sum + each, 0);
      report(`${target} has ${plural(count, "line")}, ${plural(bytes, "byte")}`);
      if (skipped > 0) report(`Skipped: ${plural(skipped, "reference")} to other clients' records`);
      const { s3, bucket } = await transferBucket(where);
      const { Body } = await s3.send(new GetObjectCommand({ ...bucket, Key: new URL(target).pathname.slice(1) }));
      if (!(Body instanceof Readable)) throw new TypeError("S3 gave no stream");
      await (out === undefined ? pipeline(Body, process.stdout) : writeFile(Body, out));
      report(out === undefined ? "Done" : `${out} is written`);
    }),
  );
}
