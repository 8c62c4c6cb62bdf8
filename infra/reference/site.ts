import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { newCommand, runCommand, UsageError } from "../command/command.ts";
import { referenceFiles } from "./files.ts";
import { referencePage, scalarFile } from "./page.ts";

/**
 * Writes the reference as a folder that any host can serve.
 * @param api the URL of the API that receives the page's requests
 */
export async function writeReferenceSite(directory: string, api: URL): Promise<void> {
  const files = referenceFiles({ base: "", server: api.href.replace(/\/$/, "") });
  await mkdir(directory, { recursive: true });
  await Promise.all([
    writeFile(join(directory, "index.html"), referencePage({ base: "", api: api.origin })),
    ...Object.entries(files).map(([name, text]) => writeFile(join(directory, name), text)),
    copyFile(scalarFile, join(directory, "scalar.js")),
  ]);
}

if (import.meta.main) {
  const command = newCommand("npm run reference")
    .description("Writes the reference as a folder that any host can serve.")
    .argument("<url>", "of the API that receives the page's requests, as https://api.example.com");
  await runCommand(
    command.action(async (url) => {
      const api = URL.parse(url);
      if (!api) throw new UsageError(`${url} is no URL`);
      const directory = resolve(import.meta.dirname, "../../dist/reference");
      await writeReferenceSite(directory, api);
      console.log(directory);
    }),
  );
}
