import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { copyProject } from "../../support/project-copy.ts";

let project: string;

/** Parts that read a file each, and fail if it says so. */
const program = `
  import { checkAll } from "./infra/check/check.ts";
  import { runCommand } from "./infra/command/command.ts";
  const part = (file) => ({ command: ["part.ts", file], inputs: [file, "package.json"] });
  await runCommand({ usage: "npm run check" }, () => checkAll({ "first part": part("a.json"), second: part("b.json") }));
`;
const part = `
  import { readFileSync } from "node:fs";
  const text = readFileSync(process.argv[2], "utf8");
  if (text === "bad") throw new Error("It is bad");
`;

beforeAll(async () => {
  project = await copyProject();
  await writeFile(join(project, "program.ts"), program);
  await writeFile(join(project, "part.ts"), part);
});

afterAll(() => rm(project, { recursive: true }));

/** What it prints with these files, with the same number for all seconds. */
async function check(first: string, second: string): Promise<{ code: number; output: string[]; complaint: string }> {
  await writeFile(join(project, "a.json"), first);
  await writeFile(join(project, "b.json"), second);
  return await new Promise((resolve) => {
    execFile(process.execPath, ["program.ts"], { cwd: project }, (error, output, complaint) => {
      const lines = output.replace(/[\d.]+ s$/gm, "1.0 s").trimEnd();
      resolve({ code: Number(error?.code ?? 0), output: lines.split("\n").sort(), complaint });
    });
  });
}

describe("npm run check", () => {
  it("prints a line for each part and a last one, and does not run again what passed with the same files", async () => {
    const fine = (first: string, second: string) => ({
      code: 0,
      output: ["All is well, after 1.0 s", `first part          ${first}`, `second              ${second}`],
      complaint: "",
    });

    expect(await check("good", "good")).toEqual(fine("1.0 s", "1.0 s"));
    expect(await check("good", "good")).toEqual(fine("unchanged", "unchanged"));
    expect(await check("good", "better")).toEqual(fine("unchanged", "1.0 s"));
  });

  it("shows what a part finds, each time until it passes", async () => {
    for (const _ of ["once", "again"]) {
      const { code, output, complaint } = await check("good", "bad");
      expect({ code, complaint }).toEqual({ code: 1, complaint: "Check failed: second\n" });
      expect(output).toContain("second              failed");
      expect(output).toContain("Error: It is bad");
    }

    expect(await check("good", "best")).toMatchObject({ code: 0, complaint: "" });
  });
});
