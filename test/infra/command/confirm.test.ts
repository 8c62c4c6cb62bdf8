import { PassThrough } from "node:stream";
import type { ReadStream } from "node:tty";
import { describe, expect, it } from "vitest";
import { confirm } from "../../../infra/command/confirm.ts";

/** What a person at a terminal is asked, and what follows from these keys. */
async function ask(keys: string | undefined, isTTY = true) {
  const input = Object.assign(new PassThrough(), { isTTY });
  const output = new PassThrough({ encoding: "utf8" });
  input.end(keys);
  const agreed = await confirm("Create it?", { input: input as unknown as ReadStream, output });
  return { agreed, shown: output.read() ?? "" };
}

describe("A question", () => {
  it.each([
    ["y\n", true],
    ["YES\n", true],
    ["n\n", false],
    ["\n", false],
    ["yesterday\n", false],
    [undefined, false],
  ])("answered %j is %s", async (keys, agreed) => {
    expect(await ask(keys)).toEqual({ agreed, shown: "Create it? [y/N] " });
  });

  it("is not asked where nobody can answer", async () => {
    expect(await ask("y\n", false)).toEqual({ agreed: false, shown: "" });
  });
});
