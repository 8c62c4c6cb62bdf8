import { execFile } from "node:child_process";
import { resolve as resolvePath } from "node:path";

export interface Surroundings {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Runs a program with these words. */
export const runProgram = (program: string, words: readonly string[], { cwd, env }: Surroundings = {}) =>
  new Promise<{ code: number; output: string; complaint: string }>((resolve) => {
    const options = { cwd, env: { ...process.env, ...env } };
    const child = execFile(program, words, options, (error, output, complaint) =>
      resolve({ code: Number(error?.code ?? 0), output, complaint }),
    );
    child.stdin?.end();
  });

/** Runs a script of the project with these words, as npm does. */
export const runScript = (script: string, words: readonly string[], surroundings?: Surroundings) =>
  runProgram(process.execPath, [resolvePath(script), ...words], surroundings);
