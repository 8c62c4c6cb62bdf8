import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, it } from "vitest";

const folder = import.meta.dirname;
const files = globSync("**/*.ts", { cwd: folder, exclude: ["node_modules"] });
const specifiers = /(?:\bfrom|\bimport|\bresolve\(|\bURL\()\s*\(?"(\.[^"]+)"/g;

it("has no part that imports a file from outside of it", () => {
  const arrows = files.flatMap((file) =>
    Array.from(readFileSync(join(folder, file), "utf8").matchAll(specifiers), ([, specifier = ""]) => ({
      file,
      imported: relative(folder, join(folder, dirname(file), specifier)),
    })),
  );

  expect(arrows.length).toBeGreaterThan(50);
  expect(arrows.filter(({ imported }) => imported.startsWith(".."))).toEqual([]);
});
