import { execFile } from "node:child_process";
import { mkdtemp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { inject } from "vitest";

/** Every program is missing, and this runs instead: it notes the words, takes the input, and prints a number as long as the shortest ARN. */
const prelude = `
set -u
PATH=/nonexistent
command_not_found_handle() {
  printf '%s\\0' "$#" "$@" >>"$RECORD"
  [[ -p /dev/stdin ]] && mapfile -t _
  echo 17000000000000000000
}
`;

/** Runs a script in bash, in which no program can do anything, and records what it calls. */
export async function recordShell(script: string, variables: Readonly<Record<string, string>>) {
  const directory = await mkdtemp(join(inject("cache"), "shell-"));
  const record = join(directory, "record");
  const complaint = await new Promise<string>((resolve) => {
    const child = execFile(
      "bash",
      ["--norc", "-c", `${prelude}\n${script}`],
      { cwd: directory, env: { ...variables, RECORD: record } },
      (error, _, stderr) => resolve(stderr.replace(/^.*Broken pipe\n/gm, "") || (error?.message ?? "")),
    );
    child.stdin?.end();
  });
  return {
    /** The words of each program that was called, its name first. */
    commands: commandsOf(await readFile(record, "utf8").catch(() => "")),
    /** What bash complained about: syntax, or a variable that is not set. */
    complaint,
  };
}

function commandsOf(record: string): string[][] {
  const words = record.split("\0").slice(0, -1);
  const commands: string[][] = [];
  for (let at = 0; at < words.length; ) {
    const end = at + 1 + Number(words[at]);
    commands.push(words.slice(at + 1, end));
    at = end;
  }
  return commands;
}
