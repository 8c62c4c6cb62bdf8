import { readFileSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/**
 * Writes modules as if they had been built, by the folder of each. They run in threads of their own, so what they `tell`
 * goes by way of a file, and so does the `gate` that they wait for.
 * @param parent a folder beneath which they find the packages that they import; default: they import none
 */
export async function writeFunctions(sources: Readonly<Record<string, string>>, parent = tmpdir()) {
  const outdir = await mkdtemp(join(parent, "functions-"));
  const told = join(outdir, "told");
  let gates = 0;
  const current = join(outdir, "gate");
  for (const [folder, source] of Object.entries(sources)) {
    const file = join(outdir, folder, "index.mjs");
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `${connection(told, current)}${source}`);
  }
  const forget = () => writeFileSync(told, "");
  forget();
  return {
    outdir,
    /** What the functions have told since this was last forgotten. */
    // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever functions tell
    seen: (): any[] =>
      readFileSync(told, "utf8")
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    forget,
    /** A gate that is closed until this is called. */
    newGate() {
      gates += 1;
      const opened = join(outdir, `gate-${gates}`);
      writeFileSync(current, opened);
      return () => writeFileSync(opened, "");
    },
    remove: () => rm(outdir, { recursive: true }),
  };
}

const connection = (told: string, gate: string) =>
  `
  import * as files from "node:fs";
  const tell = (what) => files.appendFileSync(${JSON.stringify(told)}, JSON.stringify(what) + "\\n");
  const gate = async () => {
    const opened = files.readFileSync(${JSON.stringify(gate)}, "utf8");
    while (!files.existsSync(opened)) await new Promise((done) => setTimeout(done, 2));
  };
`.replaceAll("\n", " ");

/** A buffered handler with `event` and `context`. */
export const buffered = (body: string) => `export const handler = async (event, context) => { ${body} };`;

/** A streaming handler with `event`, `stream` and `start`, which sends the head. */
export const streaming = (body: string) => `
  export const handler = awslambda.streamifyResponse(async (event, stream, context) => {
    const start = (head = { statusCode: 200 }) => {
      const started = awslambda.HttpResponseStream.from(stream, head);
      started.write("");
      return started;
    };
    ${body}
  });`;
