import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { freePort } from "../aws-local/http/free-port.ts";
import { runCommand } from "../command/command.ts";
import { callsFile, clientTypes } from "./client/calls.ts";
import { catalogueLinesFile, catalogueLinesText } from "./openapi/catalogue-lines.ts";
import { openApiText } from "./openapi/document.ts";
import { collectExamples, examplesFile } from "./openapi/examples.ts";
import { documentFile } from "./openapi/file.ts";

/** Runs the service with the demo data on a free port, without data that are there already. */
async function withDemo<Result>(use: (url: string) => Promise<Result>): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), "colophon-openapi-"));
  const port = await freePort();
  const args = [
    join(import.meta.dirname, "../local/start.ts"),
    "--port",
    `${port}`,
    "--data",
    directory,
    "--no-uploads",
  ];
  const service = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const exit = once(service, "exit");
  try {
    if (!(await says(service.stdout, "Try:"))) throw new Error("npm start has ended");
    return await use(`http://localhost:${port}`);
  } finally {
    service.kill();
    await exit;
    await rm(directory, { recursive: true });
  }
}

/** Whether it prints these words before it ends. */
async function says(output: Readable, words: string): Promise<boolean> {
  let text = "";
  for await (const chunk of output.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.includes(words)) {
      output.resume();
      return true;
    }
  }
  return false;
}

const usage =
  "npm run openapi\n  writes lib/client/openapi.json, lib/client/calls.d.ts and lib/operators/catalogue-lines.schema.json anew, from the\n" +
  "  declarations and the demo data";

await runCommand({ usage }, async () => {
  await writeFile(examplesFile, `${JSON.stringify(await withDemo(collectExamples), null, 2)}\n`);
  await writeFile(documentFile, openApiText());
  await writeFile(callsFile, clientTypes());
  await writeFile(catalogueLinesFile, catalogueLinesText());
});
