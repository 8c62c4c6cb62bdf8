import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { documentFile } from "../../infra/api/openapi/file.ts";
import { nameOrEmpty } from "../../lib/contract/parameters.ts";
import { document, type Json, operations } from "./operations.ts";

/* What tools that read the OpenAPI document stumble over. .ci/generators tries some of them. */

const nested = (value: unknown): Json[] =>
  typeof value === "object" && value !== null ? [value as Json, ...Object.values(value).flatMap(nested)] : [];

describe("The OpenAPI document", () => {
  const patterns = new Set(nested(document).flatMap(({ pattern }) => (typeof pattern === "string" ? [pattern] : [])));

  it("has patterns that mean the same with and without the flag u, up to U+FFFF", () => {
    const characters = Array.from({ length: 0xd800 }, (_, code) => String.fromCharCode(code));
    const texts = [...characters, ...characters.map((each) => `a${each}b`)];

    expect(patterns.size).toBeGreaterThan(5);
    for (const pattern of patterns) {
      const [plain, unicode] = [new RegExp(pattern), new RegExp(pattern, "u")];
      expect([pattern, pattern.length <= 200]).toEqual([pattern, true]);
      expect(texts.filter((text) => plain.test(text) !== unicode.test(text))).toEqual([]);
    }
  });

  it("allows every name that the service accepts", () => {
    const { Name, PossibleName } = document.components.schemas;
    const names = ["Osamu", "手塚 治虫", "O’Malley", "می‌خواهم", "👩‍🚀", "葛\u{e0100}城", "a", "  a  ", ""];

    for (const name of names) {
      expect([name, nameOrEmpty.safeParse(name).success]).toEqual([name, true]);
      for (const { pattern } of name === "" ? [PossibleName] : [Name, PossibleName])
        expect([name, pattern, new RegExp(pattern).test(name), new RegExp(pattern, "u").test(name)]).toEqual([
          name,
          pattern,
          true,
          true,
        ]);
    }
    for (const name of ["a\nb", "\u0007", " "]) expect(new RegExp(Name.pattern, "u").test(name)).toBe(false);
  });

  it("has no schema NewX beside X, which is the name of its constructor in Go", () => {
    const names = Object.keys(document.components.schemas);
    expect(names.filter((name) => names.includes(`New${name}`))).toEqual([]);
  });

  it("has an example of each parameter, header and body", () => {
    const parameters = operations.flatMap((operation) => operation.parameters as Json[]);
    const all = [
      ...parameters.filter(({ $ref }) => !$ref),
      ...Object.values<Json>(document.components.parameters),
      ...Object.values<Json>(document.components.headers),
      ...operations.flatMap(({ requestBody }) => Object.values<Json>(requestBody?.content ?? {})),
    ];

    expect(all.length).toBeGreaterThan(100);
    expect(all.filter(({ example }) => example === undefined)).toEqual([]);
  });

  it("names as its server the service that npm start runs", async () => {
    expect(document.servers).toEqual([{ url: "http://localhost:3000" }]);
    expect(JSON.parse(await readFile(documentFile, "utf8")).servers).toEqual(document.servers);
  });
});
