import { existsSync } from "node:fs";
import { glob, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";

/** From the project's root. */
async function filesIn(...patterns: string[]): Promise<string[]> {
  const exclude = (path: string) => /(^|\/)(node_modules|dist|cdk\.out|\.local)(\/|$)/.test(relative("", path));
  const files: string[] = [];
  for await (const file of glob(patterns, { exclude })) files.push(file);
  return files.sort();
}

const read = (file: string) => readFile(file, "utf8");

const headingsOf = (text: string) => (text.match(/^#+ .*$/gm) ?? []).map((line) => line.replace(/^#+ /, ""));

const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .replaceAll(" ", "-");

/** What a link of a document leads to, and is not there. */
async function brokenLinksOf(file: string): Promise<string[]> {
  const text = await read(file);
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  const broken = links.map(async (link) => {
    if (/^(https?|mailto):/.test(link)) return [];
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? file : join(dirname(file), path);
    if (!existsSync(target)) return [link];
    const anchors = anchor === undefined ? [] : headingsOf(await read(target)).map(anchorOf);
    return anchor === undefined || anchors.includes(anchor) ? [] : [link];
  });
  return (await Promise.all(broken)).flat();
}

const documents = await filesIn("*.md", "{functions,infra,lib,test}/**/*.md");

describe.each(documents)("%s", (file) => {
  it("links to what is there", async () => {
    expect(await brokenLinksOf(file)).toEqual([]);
  });

  it("stays within 120 columns, but for tables", async () => {
    const lines = (await read(file)).split("\n").filter((line) => !line.startsWith("|"));

    expect(lines.filter((line) => line.length > 120)).toEqual([]);
  });
});

describe("A comment", () => {
  it("cites sections that a document of this repository has", async () => {
    const citation = /\((?:see )?((?:[\w-]+\/)*README\.md)((?:(?:,| and|;)[^")]*"[^"]+")+)/g;
    const missing: string[] = [];
    let cited = 0;
    for (const file of await filesIn("{functions,infra,lib,test}/**/*.{ts,sql}")) {
      for (const [, path = "", sections = ""] of (await read(file)).matchAll(citation)) {
        const target = path.includes("/") ? path : join(dirname(file), path);
        const headings = existsSync(target) ? headingsOf(await read(target)) : [];
        for (const [, section = ""] of sections.matchAll(/"([^"]+)"/g)) {
          cited += 1;
          if (!headings.includes(section)) missing.push(`${file}: ${path}, "${section}"`);
        }
      }
    }

    expect(missing).toEqual([]);
    expect(cited).toBeGreaterThan(10);
  });
});
