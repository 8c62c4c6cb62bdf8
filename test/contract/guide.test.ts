import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { collectExamples, readExamples } from "../../infra/api/openapi/examples.ts";
import { useStack } from "../support/stack.ts";

const guide = await readFile("lib/contract/guide.md", "utf8");
const commands = guide.match(/(?<=^```sh\n)curl .*?(?=^```$)/gms) ?? [];
const stack = useStack({ from: "demo" });

it("The examples of the OpenAPI document are those of the demo data (else run npm run openapi)", async () => {
  expect(await collectExamples(stack.url)).toEqual(readExamples());
});

/* The commands run as they are written, one after the other. */
describe("The guide", () => {
  it.each(commands.map((command) => [command]))("has a command that succeeds: %s", async (command) => {
    const request = `${command.replaceAll("http://localhost:3000", stack.url).trim()} --silent --fail`;

    expect(JSON.parse((await promisify(execFile)("sh", ["-c", request])).stdout)).toBeTruthy();
  });

  it("has commands", () => {
    expect(commands.length).toBeGreaterThan(4);
  });
});
