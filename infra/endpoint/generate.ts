import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { callsFile, clientPaths, clientTypes, pathsFile } from "../api/client/calls.ts";
import { catalogueLinesFile, catalogueLinesText } from "../api/openapi/catalogue-lines.ts";
import { openApiText } from "../api/openapi/document.ts";
import { collectExamples, examplesFile } from "../api/openapi/examples.ts";
import { documentFile } from "../api/openapi/file.ts";
import { freePort } from "../aws-local/http/free-port.ts";
import { newCommand, runCommand } from "../command/command.ts";

/** The texts of the generated files beside the examples. */
export const generated = (): Readonly<Record<string, string>> => ({
  [documentFile]: openApiText(),
  [callsFile]: clientTypes(),
  [pathsFile]: clientPaths(),
  [catalogueLinesFile]: catalogueLinesText(),
});

/** Runs the service with the demo data on a free port, without data that are there already. */
async function withDemo<Result>(use: (url: string) => Promise<Result>): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), "colophon-openapi-"));
  const port = await freePort();
  const start = join(import.meta.dirname, "../local/start.ts");
  const args = [start, "--port", `${port}`, "--data", directory, "--no-uploads"];
  const service = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const exit = once(service, "exit");
  try {
    for await (const line of createInterface(service.stdout))
      if (line.includes("Try:")) return await use(`http://localhost:${port}`);
    throw new Error("npm start has ended");
  } finally {
    service.kill();
    await exit;
    await rm(directory, { recursive: true });
  }
}

if (import.meta.main) {
  const command = newCommand("npm run openapi").description(
    "Writes lib/client/openapi.json, calls.d.ts and paths.js, and lib/operators/transfer/catalogue-lines.schema.json " +
      "anew, from the declarations and the demo data.",
  );
  await runCommand(
    command.action(async () => {
      await writeFile(examplesFile, `${JSON.stringify(await withDemo(collectExamples), null, 2)}\n`);
      for (const [file, text] of Object.entries(generated())) await writeFile(file, text);
    }),
  );
}
