import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { styleText } from "node:util";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { freePort } from "../../../infra/aws-local/http/free-port.ts";
import { messageOf } from "../../../infra/command/command.ts";
import { visible } from "../../../infra/command/print.ts";
import manifest from "../../../package.json" with { type: "json" };

const root = join(import.meta.dirname, "../../..");

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

  // The others print theirs below, behind their complaint.
  it.each(commands.filter(([name]) => /deploy|sql/.test(name)))(
    "prints its usage when asked: %s",
    async (name, file) => {
      const { code, output, complaint } = await run(file, "--help");

      expect({ code, complaint }).toEqual({ code: 0, complaint: "" });
      expect(output).toMatch(new RegExp(`^${name}( |\\n)`));
    },
  );

  const strict = commands.filter(([name]) => name !== "npm run deploy");

  it.each(strict)("does nothing with a flag that it does not know: %s", async (name, file) => {
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
    expect(complaint).toContain(`${reason}\n\nnpm run smoke -- [URL]`);
  });
});

describe("A flag that npm keeps, since it is not behind --,", () => {
  /** `npm` with these words, in this project. */
  const npm = (words: string) =>
    new Promise<string>((resolve) => {
      execFile("npm", words.split(" "), { cwd: root }, (_, __, complaint) => resolve(complaint));
    });

  it("does not matter if it is behind -- as well", async () => {
    expect(await npm("run rollback --dry-run -- --stage nowhere --dry-run")).toContain("There is no stage nowhere");
  });

  it.each([
    ["start --port 4000", "npm start -- --port 4000"],
    ["start --port=4000 --no-uploads", "npm start -- --port 4000 --no-uploads"],
    ["run import none.jsonl --dry-run --stage prod", "npm run import -- none.jsonl --dry-run --stage prod"],
  ])("is answered with the right form: npm %s", async (words, form) => {
    expect(await npm(words)).toContain(`Write: ${form}\n`);
  });
});

describe("An error", () => {
  const socketError = async (port: number, host: string) => (await once(connect(port, host), "error"))[0] as Error;
  const failure = (work: Promise<unknown>) => work.then(() => undefined).catch((error: unknown) => error);

  it.each<[string, () => Promise<unknown>, string]>([
    [
      "ECONNREFUSED",
      async () => await socketError(await freePort(), "127.0.0.1").catch((e) => e),
      "Nothing listens on 127.0.0.1:",
    ],
    ["ENOENT", () => failure(readFile("/nowhere/file")), "There is no file or directory /nowhere/file"],
    [
      "ENOENT of a program",
      async () => (await once(spawn(join(root, "none")), "error"))[0],
      `There is no program ${root}/none`,
    ],
    ["EEXIST", () => failure(mkdir(root)), `${root} exists already`],
    ["EISDIR", () => failure(readFile(root)), "The path is a directory, not a file"],
    ["ENOTDIR", () => failure(readFile(join(root, "package.json/x"))), `${root}/package.json/x is not in a directory`],
    ["zod", async () => z.safeParse(z.object({ a: z.number() }), { a: "b" }).error, "Unexpected response: a: "],
  ])("of the system is a sentence: %s", async (_, fail, sentence) => {
    expect(messageOf(await fail())).toContain(sentence);
  });

  it("is none when nobody reads on", async () => {
    const program = `
      import { runCommand } from "./infra/command/command.ts";
      import { print } from "./infra/command/print.ts";
      await runCommand({ usage: "npm run x" }, async () => {
        for (let line = 0; line < 100_000; line++) print("line");
      });`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { cwd: root });
    child.stdout.once("data", () => child.stdout.destroy());

    const [complaint, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);

    expect({ complaint, code }).toEqual({ complaint: "", code: 0 });
  });
});

describe("What a command prints", () => {
  it.each([
    ["a\u001b[31mb", String.raw`a\u001b[31mb`],
    ["\u0000\u007f\u009b\r\t", String.raw`\u0000\u007f\u009b\u000d\u0009`],
    ["\u202eabc\u2066\u200b\u00ad\ufeff", String.raw`\u202eabc\u2066\u200b\u00ad\ufeff`],
    ["\ud800 \u{e0001}", String.raw`\ud800 \udb40\udc01`],
    ["手塚 治虫 é\n👍", "手塚 治虫 é\n👍"],
  ])("has no control characters, and none that turn text: %j", (given, expected) => {
    expect(visible(given)).toBe(expected);
  });

  it("keeps the heads of tables bold", () => {
    const head = styleText("bold", "id", { validateStream: false });

    expect(visible(head)).toBe(head);
  });
});
