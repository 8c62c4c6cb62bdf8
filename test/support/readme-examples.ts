import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

const folder = join(import.meta.dirname, "../../lib/client");

/** The code that the client's README shows under a heading. */
export async function readmeExample(heading: string): Promise<string> {
  const readme = await readFile(join(folder, "README.md"), "utf8");
  const [, code] = new RegExp(`^## ${heading}$(?:(?!^## ).)*?^\`\`\`ts\n(.*?)^\`\`\`$`, "ms").exec(readme) ?? [];
  if (code === undefined) throw new Error(`The client's README has no code under "${heading}"`);
  return code;
}

/** A script with the client in it, for the service at this URL, whose exports are an object of this name. */
export async function bundled(code: string, url: string, globalName: string) {
  const contents = code.replaceAll("http://localhost:3000", url);
  const stdin = { contents, loader: "ts", resolveDir: folder } as const;
  const { outputFiles } = await build({ stdin, bundle: true, write: false, globalName });
  return outputFiles[0]?.text ?? "";
}
