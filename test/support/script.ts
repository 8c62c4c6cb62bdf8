import { execFile } from "node:child_process";
import { join, resolve as resolvePath } from "node:path";

const root = join(import.meta.dirname, "../..");

export interface ScriptOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** A program that runs it, such as a terminal, with its words. */
  readonly by?: readonly string[];
  readonly typed?: string;
}

/** Runs a script of the project with these words, as npm does. */
export const runScript = (
  script: string,
  words: readonly string[],
  { cwd, env, by = [], typed = "" }: ScriptOptions = {},
) =>
  new Promise<{ code: number; output: string; complaint: string }>((resolve) => {
    const [program = "", ...all] = [...by, process.execPath, resolvePath(root, script), ...words];
    const options = { cwd, env: { ...process.env, ...env } };
    const child = execFile(program, all, options, (error, output, complaint) =>
      resolve({ code: Number(error?.code ?? 0), output, complaint }),
    );
    child.stdin?.end(typed);
  });
