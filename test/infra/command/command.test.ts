import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import type { ReadStream } from "node:tty";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { freePort } from "../../../infra/aws-local/http/free-port.ts";
import { messageOf } from "../../../infra/command/command.ts";
import { confirm } from "../../../infra/command/confirm.ts";
import { visible } from "../../../infra/command/print.ts";
import { command } from "../../../infra/smoke/smoke.ts";
import manifest from "../../../package.json" with { type: "json" };
import { runProgram, runScript } from "../../support/script.ts";

/** The commands that run a program of this project: name, and file. Those of aws-local have tests beside them. */
const commands = Object.entries(manifest.scripts).flatMap(([name, script]) => {
  const [, file] = / (\S+\.ts)$/.exec(script) ?? [];
  return file && !file.startsWith("infra/aws-local/")
    ? [[name === "start" ? "npm start" : `npm run ${name}`, file] as const]
    : [];
});

describe("Every command", () => {
  it.concurrent.each(commands)("prints its usage when asked, or beside an unknown flag: %s", async (name, file) => {
    // Another program gets the flags of a deployment, and takes seconds.
    const isStrict = name !== "npm run deploy";
    const { code, output, complaint } = await runScript(file, [isStrict ? "--hepl" : "--help"]);

    expect(code).toBe(isStrict ? 1 : 0);
    if (isStrict)
      expect(complaint).toMatch(/^error: (unknown option '--hepl'\n\(Did you mean --help\?\)|required option .*)\n/);
    expect([output, complaint].filter((each) => each)).toEqual([expect.stringContaining(`Usage: ${name} -- `)]);
  });

  it.each([
    {
      mistake: "a misspelt flag, with the one that may be meant",
      words: ["--token-form", "TOKEN"],
      reason: "unknown option '--token-form'\n(Did you mean --token-from?)",
    },
    { mistake: "an unknown flag", words: ["--verbose"], reason: "unknown option '--verbose'" },
    { mistake: "an unknown letter", words: ["-v"], reason: "unknown option '-v'" },
    {
      mistake: "a flag without its value",
      words: ["--token-from"],
      reason: "option '--token-from <source>' argument missing",
    },
    {
      mistake: "an argument too many",
      words: ["http://localhost"],
      reason: "too many arguments. Expected 1 argument but got 2: http://127.0.0.1:9, http://localhost.",
    },
  ])("names $mistake", ({ words, reason }) => {
    const strict = command.exitOverride().configureOutput({ writeErr: () => {} });

    expect(() => strict.parse(["http://127.0.0.1:9", ...words], { from: "user" })).toThrow(`error: ${reason}`);
  });

  it.concurrent.each([
    { words: "start --port 4000", form: "Write: npm start -- --port 4000\n" },
    { words: "start --port=4000 --no-uploads", form: "Write: npm start -- --port 4000 --no-uploads\n" },
    {
      words: "run import none.jsonl --dry-run --stage prod",
      form: "Write: npm run import -- none.jsonl --dry-run --stage prod\n",
    },
    { words: "run rollback --dry-run -- --stage nowhere --dry-run", form: "There is no stage nowhere" },
  ])("says the right form when npm keeps a flag that is not behind --: npm $words", async ({ words, form }) => {
    expect((await runProgram("npm", words.split(" "))).complaint).toContain(form);
  });

  it("ends without an error when nobody reads on", async () => {
    const program = `
      import { newCommand, runCommand } from "./infra/command/command.ts";
      import { print } from "./infra/command/print.ts";
      await runCommand(newCommand("npm run x").action(async () => {
        for (let line = 0; line < 100_000; line++) print("line");
      }));`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program]);
    child.stdout.once("data", () => child.stdout.destroy());

    const [complaint, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);

    expect({ complaint, code }).toEqual({ complaint: "", code: 0 });
  });
});

async function listenTwice(): Promise<unknown> {
  const first = createServer().listen(0, "127.0.0.1");
  await once(first, "listening");
  const [error] = await once(createServer().listen(first.address()), "error");
  first.close();
  return error;
}

const systemError = (code: string) => Object.assign(new Error(code), { code, path: "/some/file" });

it.each<{ what: string; fail: () => Promise<unknown>; sentence: string }>([
  {
    what: "ECONNREFUSED",
    fail: async () => (await once(connect(await freePort(), "127.0.0.1"), "error"))[0],
    sentence: "Nothing listens on 127.0.0.1:",
  },
  { what: "ENOENT", fail: () => readFile("/nowhere/file"), sentence: "There is no file or directory /nowhere/file" },
  {
    what: "ENOENT of a program",
    fail: async () => (await once(spawn("/none"), "error"))[0],
    sentence: "There is no program /none",
  },
  {
    what: "ENOENT of a new directory",
    fail: async () => Object.assign(systemError("ENOENT"), { syscall: "mkdir" }),
    sentence: "The directory /some/file cannot be made: its file system may be read-only",
  },
  { what: "EEXIST", fail: () => mkdir("infra"), sentence: "infra exists already" },
  { what: "EISDIR", fail: () => readFile("infra"), sentence: "The path is a directory, not a file" },
  { what: "ENOTDIR", fail: () => readFile("package.json/x"), sentence: "package.json/x is not in a directory" },
  { what: "EADDRINUSE", fail: listenTwice, sentence: "Port " },
  { what: "ENOSPC", fail: () => writeFile("/dev/full", "text"), sentence: "No space is left on the file system" },
  { what: "EROFS", fail: async () => systemError("EROFS"), sentence: "The file system of /some/file is read-only" },
  {
    what: "zod",
    fail: async () => z.safeParse(z.object({ a: z.number() }), { a: "b" }).error,
    sentence: "Unexpected response: a: ",
  },
])("An error of the system is a sentence: $what", async ({ fail, sentence }) => {
  expect(messageOf(await fail().catch((error) => error))).toContain(sentence);
});

describe("What a command prints", () => {
  it.each([
    { what: "a colour", given: "a\u001b[31mb", shown: String.raw`a\u001b[31mb` },
    {
      what: "control characters",
      given: "\u0000\u007f\u009b\r\t",
      shown: String.raw`\u0000\u007f\u009b\u000d\u0009`,
    },
    {
      what: "what turns or hides text",
      given: "\u202eabc\u2066\u200b\u00ad\ufeff",
      shown: String.raw`\u202eabc\u2066\u200b\u00ad\ufeff`,
    },
    { what: "half a character and a tag", given: "\ud800 \u{e0001}", shown: String.raw`\ud800 \udb40\udc01` },
  ])("shows $what as an escape", ({ given, shown }) => {
    expect(visible(given)).toBe(shown);
  });

  it("keeps letters, line breaks and pictures", () => {
    expect(visible("手塚 治虫 é\n👍")).toBe("手塚 治虫 é\n👍");
  });
});

/** What a person at a terminal is asked, and what follows from these keys. */
async function ask(keys: string | undefined, isTTY = true) {
  const input = Object.assign(new PassThrough(), { isTTY });
  const output = new PassThrough({ encoding: "utf8" });
  if (keys === undefined) input.end();
  else input.write(keys);
  const agreed = await confirm("Create it?", { input: input as unknown as ReadStream, output });
  // Or the command would not end.
  if (isTTY) expect(input.isPaused()).toBe(true);
  return { agreed, shown: output.read() ?? "" };
}

describe("A question", () => {
  it.each(["y", "YES"])("is agreed to by %s", async (word) => {
    expect(await ask(`${word}\n`)).toEqual({ agreed: true, shown: "Create it? [y/N] " });
  });

  it.each([
    { what: "n", keys: "n\n" },
    { what: "an empty line", keys: "\n" },
    { what: "another word", keys: "yesterday\n" },
    { what: "the end of the input", keys: undefined },
  ])("is not agreed to by $what", async ({ keys }) => {
    expect(await ask(keys)).toEqual({ agreed: false, shown: "Create it? [y/N] " });
  });

  it("is not asked where nobody can answer", async () => {
    expect(await ask("y\n", false)).toEqual({ agreed: false, shown: "" });
  });
});
