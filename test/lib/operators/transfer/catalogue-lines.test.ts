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

  it.each([
    ["[]", null, "expected a JSON object"],
    ["{}", "kind", "expected one of client, publisher, publisher-relation, contributor, contributor-relation, series"],
    ['{"kind":"toString"}', "kind", /^expected one of/],
  ])("%s is refused", (text, field, reason) => {
    expect(parseLine(text)).toEqual({ field, reason: expect.stringMatching(reason) });
  });

  const name = "a name: at most 255 characters, one of them visible, no control characters";
  const links = "an http or https address of at most 2,000 characters";
  const key = /^expected the key of an object in the bucket/;

  const alias = { title: "A", language: "ja" };
  const described = (description: string) => ({ language: "en", description });

  it.each([
    [{ kind: "client", name: "A" }, "id", "a positive integer"],
    [{ kind: "client", id: 2 ** 53, name: "A" }, "id", "a positive integer"],
    [{ kind: "client", id: 1, name: null }, "name", name],
    [{ ...publisher, externalId: "a b" }, "externalId", /^expected your own name/],
    [{ ...publisher, externalId: "a\u200b" }, "externalId", /^expected your own name/],
    [{ ...publisher, slug: "a/b" }, "slug", /^expected its name in addresses/],
    [{ ...publisher, name: "a\u202eb" }, "name", name],
    [{ ...publisher, client: "1" }, "client", /^expected the id of a client/],
    [{ ...publisher, website: "javascript:alert(1)" }, "website", `${links}, or null`],
    [{ ...publisher, founding_date: "1900-02-29" }, "founding_date", "1909, 1909-12 or 1909-12-31, or null"],
    [{ ...publisher, founding_date: "1909-13" }, "founding_date", "1909, 1909-12 or 1909-12-31, or null"],
    [{ ...publisher, founding_date: "0000" }, "founding_date", "1909, 1909-12 or 1909-12-31, or null"],
    [{ ...publisher, image: "a/../b.webp" }, "image", key],
    [{ ...publisher, image: "https://example.com/a.webp" }, "image", key],
    [{ ...publisher, aliases: ["A"] }, "aliases.0", /^expected an object with title, language$/],
    [{ ...publisher, founded: "1909" }, "founded", /^is no field of such a line$/],
    [{ ...publisher, aliases: [{ ...alias, id: 1 }] }, "aliases.0.id", /^is no field of such a line$/],
    [{ ...publisher, aliases: [alias, { title: "B" }] }, "aliases.1.language", /^expected a language/],
    [{ ...contributor, first_name: null }, "first_name", name],
    [{ ...contributor, public: 1 }, "public", "true or false, or null"],
    [{ ...contributor, links: ["https://a.example", "ftp://b.example"] }, "links.1", links],
    [{ ...contributor, links: Array(51).fill("a.example") }, "links", "a list of at most 50 elements, or null"],
    [
      { ...contributor, descriptions: ["de", "ger"].map((language) => ({ language, description: "A" })) },
      "descriptions",
      "a list of at most 40 elements, each with another language and source, or null",
    ],
    [{ ...contributor, aliases: ["a", null] }, "aliases.1", name],
    [{ ...contributor, descriptions: [described("a\u0000")] }, "descriptions.0.description", /^expected text/],
    [{ kind: "publisher-relation", from: "a", to: "b", type: "" }, "type", name],
    [{ ...series, volumes: [{ number: 2 ** 31 }] }, "volumes.0.number", "an integer of 32 bits"],
    [{ ...series, volumes: [{ number: 1 }, { number: 1, nsfw: 1 }] }, "volumes", /each with another number, or null$/],
    [{ ...series, volumes: [{ number: 1, aspect_ratio: 0 }] }, "volumes.0.aspect_ratio", /^expected a positive number/],
    [{ ...series, volumes: [{ number: 1, nsfw: true }] }, "volumes.0.nsfw", "0 or 1, or null"],
    [{ ...series, publishers: ["a", "a"] }, "publishers", /each with another value, or null$/],
  ])("%j is refused for %s", (line, field, reason) => {
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
