import { execFile } from "node:child_process";
import { join, resolve as resolvePath } from "node:path";

const root = join(import.meta.dirname, "../..");

export interface ScriptOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Runs a script of the project with these words, as npm does. */
export const runScript = (script: string, words: readonly string[], { cwd, env }: ScriptOptions = {}) =>
  new Promise<{ code: number; output: string; complaint: string }>((resolve) => {
    const options = { cwd, env: { ...process.env, ...env } };
    const child = execFile(
      process.execPath,
      [resolvePath(root, script), ...words],
      options,
      (error, output, complaint) => resolve({ code: Number(error?.code ?? 0), output, complaint }),
    );
    child.stdin?.end();
  });
