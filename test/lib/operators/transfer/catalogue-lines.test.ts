import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { catalogueLinesFile, catalogueLinesText } from "../../../../infra/api/openapi/catalogue-lines.ts";
import { kinds, parseLine } from "../../../../lib/operators/transfer/catalogue-lines.ts";

const parse = (line: object) => parseLine(JSON.stringify(line));

const publisher = { kind: "publisher", externalId: "p/1", name: "Kodansha" };
const contributor = { kind: "contributor", externalId: "isni:0000", first_name: "Osamu" };
const series = { kind: "series", externalId: "s-1", name: "Astro Boy" };

describe("A line of a catalogue", () => {
  it("is stored as the API stores it", () => {
    const line = {
      descriptions: [{ description: " A\r\nB ", language: "de" }],
      links: ["example.com/", "HTTP://Example.com/a/../b"],
      last_name: " \u00ad ",
      first_name: " Osamu ",
      slug: "osamu-tezuka",
      gender: null,
      public: null,
      aliases: null,
      externalId: "isni:0000",
      kind: "contributor",
    };

    expect(JSON.stringify(parse(line))).toBe(
      JSON.stringify({
        kind: "contributor",
        externalId: "isni:0000",
        slug: "osamu-tezuka",
        public: false,
        first_name: "Osamu",
        last_name: null,
        gender: null,
        links: ["https://example.com/", "http://example.com/b"],
        aliases: [],
        descriptions: [{ language: "German", description: "A\nB", source: "" }],
      }),
    );
  });

  it("is refused as an array", () => {
    expect(parseLine("[]")).toEqual({ field: null, reason: "expected a JSON object" });
  });

  it.each([
    { what: "without a kind", text: "{}" },
    { what: "with a kind of JavaScript", text: '{"kind":"toString"}' },
  ])("is refused $what", ({ text }) => {
    const reason = "expected one of client, publisher, publisher-relation, contributor, contributor-relation, series";

    expect(parseLine(text)).toEqual({ field: "kind", reason });
  });

  const name = "a name: at most 255 characters, one of them visible, no control characters";
  const links = "an http or https address of at most 2,000 characters";
  const key = /^expected the key of an object in the bucket/;

  const alias = { title: "A", language: "ja" };
  const described = (description: string) => ({ language: "en", description });

  const anId = "a positive integer";
  const orNull = ", or null";
  const aDate = "1909, 1909-12 or 1909-12-31, or null";
  const refused: Readonly<Record<string, { line: object; field: string; reason: string | RegExp }>> = {
    "a missing id": { line: { kind: "client", name: "A" }, field: "id", reason: anId },
    "an id that is no safe integer": { line: { kind: "client", id: 2 ** 53, name: "A" }, field: "id", reason: anId },
    "null for a name": { line: { kind: "client", id: 1, name: null }, field: "name", reason: name },
    "a space in an external id": {
      line: { ...publisher, externalId: "a b" },
      field: "externalId",
      reason: /^expected your own name/,
    },
    "an invisible character in an external id": {
      line: { ...publisher, externalId: "a\u200b" },
      field: "externalId",
      reason: /^expected your own name/,
    },
    "a slash in a slug": {
      line: { ...publisher, slug: "a/b" },
      field: "slug",
      reason: /^expected its name in addresses/,
    },
    "a character that turns text": { line: { ...publisher, name: "a\u202eb" }, field: "name", reason: name },
    "a client's id as text": {
      line: { ...publisher, client: "1" },
      field: "client",
      reason: /^expected the id of a client/,
    },
    "a website that is a script": {
      line: { ...publisher, website: "javascript:alert(1)" },
      field: "website",
      reason: links + orNull,
    },
    "a day that does not exist": {
      line: { ...publisher, founding_date: "1900-02-29" },
      field: "founding_date",
      reason: aDate,
    },
    "a month that does not exist": {
      line: { ...publisher, founding_date: "1909-13" },
      field: "founding_date",
      reason: aDate,
    },
    "the year 0": { line: { ...publisher, founding_date: "0000" }, field: "founding_date", reason: aDate },
    "a key that leaves its folder": { line: { ...publisher, image: "a/../b.webp" }, field: "image", reason: key },
    "an address for a key": {
      line: { ...publisher, image: "https://example.com/a.webp" },
      field: "image",
      reason: key,
    },
    "an alias of a publisher as text": {
      line: { ...publisher, aliases: ["A"] },
      field: "aliases.0",
      reason: /^expected an object with title, language$/,
    },
    "an unknown field": {
      line: { ...publisher, founded: "1909" },
      field: "founded",
      reason: /^is no field of such a line$/,
    },
    "an unknown field of an element": {
      line: { ...publisher, aliases: [{ ...alias, id: 1 }] },
      field: "aliases.0.id",
      reason: /^is no field of such a line$/,
    },
    "a missing field of an element": {
      line: { ...publisher, aliases: [alias, { title: "B" }] },
      field: "aliases.1.language",
      reason: /^expected a language/,
    },
    "null for a first name": { line: { ...contributor, first_name: null }, field: "first_name", reason: name },
    "a number for true": { line: { ...contributor, public: 1 }, field: "public", reason: "true or false, or null" },
    "a link of another protocol": {
      line: { ...contributor, links: ["https://a.example", "ftp://b.example"] },
      field: "links.1",
      reason: links,
    },
    "more links than 50": {
      line: { ...contributor, links: Array(51).fill("a.example") },
      field: "links",
      reason: "a list of at most 50 elements, or null",
    },
    "two descriptions of a language": {
      line: { ...contributor, descriptions: ["de", "ger"].map((language) => ({ language, description: "A" })) },
      field: "descriptions",
      reason: "a list of at most 40 elements, each with another language and source, or null",
    },
    "null for an alias": { line: { ...contributor, aliases: ["a", null] }, field: "aliases.1", reason: name },
    "a control character in a description": {
      line: { ...contributor, descriptions: [described("a\u0000")] },
      field: "descriptions.0.description",
      reason: /^expected text/,
    },
    "an empty type of a relation": {
      line: { kind: "publisher-relation", from: "a", to: "b", type: "" },
      field: "type",
      reason: name,
    },
    "a number of 33 bits": {
      line: { ...series, volumes: [{ number: 2 ** 31 }] },
      field: "volumes.0.number",
      reason: "an integer of 32 bits",
    },
    "two volumes of a number": {
      line: { ...series, volumes: [{ number: 1 }, { number: 1, nsfw: 1 }] },
      field: "volumes",
      reason: /each with another number, or null$/,
    },
    "a cover without a width": {
      line: { ...series, volumes: [{ number: 1, aspect_ratio: 0 }] },
      field: "volumes.0.aspect_ratio",
      reason: /^expected a positive number/,
    },
    "true for a number": {
      line: { ...series, volumes: [{ number: 1, nsfw: true }] },
      field: "volumes.0.nsfw",
      reason: "0 or 1, or null",
    },
    "a publisher twice": {
      line: { ...series, publishers: ["a", "a"] },
      field: "publishers",
      reason: /each with another value, or null$/,
    },
  };

  it.each(Object.entries(refused))("is refused with %s", (_, { line, field, reason }) => {
    expect(parse(line)).toEqual({
      field,
      reason: typeof reason === "string" ? `expected ${reason}` : expect.stringMatching(reason),
    });
  });
});

describe("The documents about the lines of a catalogue", () => {
  it("have the JSON Schema of their declarations (else run npm run openapi)", async () => {
    expect(await readFile(catalogueLinesFile, "utf8")).toBe(catalogueLinesText());
  });

  it("have each kind of line, with its fields in their order", async () => {
    const readme = await readFile(join(import.meta.dirname, "../../../../lib/operators/README.md"), "utf8");
    const section = readme.split(/^(?=## )/m).find((each) => each.startsWith("## Lines of a catalogue\n")) ?? "";

    for (const [kind, { fields: declared }] of Object.entries(kinds)) {
      const [line = ""] = section.split('{"kind": ').filter((each) => each.startsWith(`"${kind}"`));
      const fields = [...line.matchAll(/"(\w+)"(?=[,:}\]])(?![^[]*\])/g)].map(([, field]) => field);
      expect(["kind", ...fields.filter((field) => field !== kind)]).toEqual(["kind", ...Object.keys(declared)]);
    }
  });
});
