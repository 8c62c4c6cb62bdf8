import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };

const root = join(import.meta.dirname, "../..");

/** The commands that run a program of this project: name, and file. Those of aws-local have tests beside them. */
const commands = Object.entries(manifest.scripts).flatMap(([name, script]) => {
  const [, file] = /^node (\S+)/.exec(script) ?? [];
  return file && !file.startsWith("infra/aws-local/")
    ? [[name === "start" ? "npm start" : `npm run ${name}`, file] as const]
    : [];
});

/** Runs a program with these words. */
const run = (file: string, ...words: string[]) =>
  new Promise<{ code: number; output: string; complaint: string }>((resolve) => {
    execFile(process.execPath, [file, ...words], { cwd: root }, (error, output, complaint) => {
      resolve({ code: Number(error?.code ?? 0), output, complaint });
    });
  });

describe("Every command", () => {
  it("is one program, which gets all words", () => {
    const scripts = Object.values(manifest.scripts).filter((script) => script.startsWith("node "));

    expect(scripts.filter((script) => !/^node \S+$/.test(script))).toEqual([]);
    expect(commands.length).toBeGreaterThan(10);
  });

  it.each(commands)("prints its usage when asked: %s", async (name, file) => {
    const { code, output, complaint } = await run(file, "--help");

    expect({ code, complaint }).toEqual({ code: 0, complaint: "" });
    expect(output).toMatch(new RegExp(`^${name}( |\\n)`));
  });

  it.each(commands)("does nothing with a flag that it does not know: %s", async (name, file) => {
    const { code, output, complaint } = await run(file, "--hepl");

    expect({ code, output }).toEqual({ code: 1, output: "" });
    expect(complaint.split("\n")[0]).toBe("Unknown flag --hepl; did you mean --help?");
    expect(complaint).toContain(`\n\n${name}`);
  });
});

describe("An unknown flag", () => {
  const smoke = (...words: string[]) => run("infra/smoke/smoke.ts", "http://127.0.0.1:9", ...words);

  it.each([
    [["--token-form", "TOKEN"], "Unknown flag --token-form; did you mean --token-from?"],
    [["--Token-From=TOKEN"], "Unknown flag --Token-From; did you mean --token-from?"],
    [["--verbose"], "Unknown flag --verbose"],
    [["-v"], "Unknown flag -v"],
  ])("is named, with the nearest one if it may be meant: %j", async (words, reason) => {
    expect((await smoke(...words)).complaint.split("\n")[0]).toBe(reason);
  });

  it.each([
    [["--token-from"], "Option '--token-from <value>' argument missing"],
    [["http://localhost"], "Unexpected argument http://localhost"],
  ])("is not the only mistake: %j", async (words, reason) => {
    const { code, complaint } = await smoke(...words);

    expect(code).toBe(1);
    expect(complaint).toContain(`${reason}\n\nnpm run smoke -- URL`);
  });
});
