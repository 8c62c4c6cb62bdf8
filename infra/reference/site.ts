import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { openApiDocument } from "../openapi/document.ts";
import { reference, scalarFile } from "./page.ts";

/**
 * Writes the reference as a static site, which operators copy to the bucket of a stage.
 * @param api the URL of the API that receives the page's requests
 */
export async function writeReferenceSite(directory: string, api: URL): Promise<void> {
  const servers = [{ url: api.href.replace(/\/$/, "") }];
  await mkdir(directory, { recursive: true });
  await Promise.all([
    writeFile(join(directory, "index.html"), reference({ base: "", tokens: [], api: api.origin }).html),
    writeFile(join(directory, "openapi.json"), JSON.stringify({ ...openApiDocument(), servers })),
    copyFile(scalarFile, join(directory, "scalar.js")),
  ]);
}

if (import.meta.main) {
  const api = URL.parse(process.argv[2] ?? "");
  if (api) {
    const directory = resolve(import.meta.dirname, "../../dist/reference");
    await writeReferenceSite(directory, api);
    console.log(directory);
  } else {
    console.error("Usage: npm run reference -- https://api.example.com");
    process.exitCode = 1;
  }
}
