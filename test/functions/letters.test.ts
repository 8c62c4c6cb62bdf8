import { beforeEach, describe, expect, it } from "vitest";
import { useHolder } from "../support/callers.ts";
import { aContributor, aPublisher } from "../support/catalogue.ts";
import { envelope, invalidParameter } from "../support/envelope.ts";
import { operate } from "../support/operate.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
const editor = useHolder(stack, "view-contributors", "add-contributors", "edit-contributors");

type Query = Readonly<Record<string, string | number>>;
interface Person {
  readonly first_name: string;
  readonly last_name: string;
}

const lists = {
  "GET /contributors": async (query: Query = {}) =>
    (await stack.call("contributors/list", { query: { client: 1, ...query } })).body,
  "GET /admin-contributors": async (query: Query = {}) =>
    (await editor.call("admin-contributors/list", { query: { client: 1, ...query } })).body,
};
const namesOf = ({ contributors }: { contributors: readonly Person[] }) =>
  contributors.map(({ first_name, last_name }) => [last_name, first_name].filter(Boolean).join(", "));

beforeEach(async () => {
  await stack.sql`delete from contributors`;
  await stack.sql`delete from publishers`;
});

describe.each(Object.entries(lists))("%s", (_, list) => {
  const sorted = ["13", "Alighieri, Dante", "Le, Zara", "Le Guin, Ursula K.", "Prince", "Zz 2, A", "Zz 10, A"];
  const add = async () => {
    for (const name of sorted.toSorted()) {
      const [last_name = "", first_name] = name.split(", ");
      const names = first_name === undefined ? { first_name: last_name } : { first_name, last_name };
      await aContributor(stack.sql, { ...names, public: true });
    }
    await aContributor(stack.sql, { first_name: "Lena", last_name: "Other", client_id: 2, public: true });
  };

  describe("with contributors of several letters", () => {
    beforeEach(add);

    it("returns 200 in the order of sort names", async () => {
      expect(namesOf(await list({ order: "sort-name-asc" }))).toEqual(sorted);
    });

    it("returns 200 in the order of sort names backwards", async () => {
      expect(namesOf(await list({ order: "sort-name-desc" }))).toEqual(sorted.toReversed());
    });

    it("returns 200 in the order of sort names page by page", async () => {
      const pages = [];
      for (let offset = 0; offset < sorted.length; offset += 3)
        pages.push(...namesOf(await list({ order: "sort-name-asc", limit: 3, offset })));

      expect(pages).toEqual(sorted);
    });

    it.each([
      { order: "sort-name-asc", search: "z", names: ["Le, Zara", "Zz 2, A", "Zz 10, A"] },
      { order: "sort-name-desc", search: "zz", names: ["Zz 10, A", "Zz 2, A"] },
    ])("returns 200 with what $search finds, in the order $order", async ({ names, ...query }) => {
      expect(namesOf(await list(query))).toEqual(names);
    });

    const [zara, ursula] = ["Le, Zara", "Le Guin, Ursula K."];

    it.each(["L", "l", "Ł"])("returns 200 with those of the letter %s, and their number", async (letter) => {
      const found = await list({ letter, order: "sort-name-asc" });

      expect(namesOf(found)).toEqual([zara, ursula]);
      expect(found).toMatchObject({ max: 2, from: 0, to: 2 });
    });

    it.each(["name-asc", "sort-name-desc"])("returns 200 with those of a letter in the order %s", async (order) => {
      expect(namesOf(await list({ letter: "L", order }))).toEqual([ursula, zara]);
    });

    it("returns 200 with a page of those of a letter, and the number of all", async () => {
      const page = await list({ letter: "L", limit: 1, offset: 1 });

      expect(page).toMatchObject({ contributors: [{ first_name: "Zara" }], max: 2 });
    });

    it.each([
      { search: "guin", first_name: "Ursula K." },
      { search: "z", first_name: "Zara" },
    ])("returns 200 with those of a letter that $search finds", async ({ search, first_name }) => {
      expect(await list({ letter: "L", search })).toMatchObject({ contributors: [{ first_name }], max: 1 });
    });

    it("returns 200 with those that begin with no letter", async () => {
      expect(namesOf(await list({ letter: "#" }))).toEqual(["13"]);
    });

    it("returns 200 with nobody for a letter of nobody", async () => {
      expect(await list({ letter: "Q" })).toEqual({ contributors: [], max: 0, from: 0, to: 0 });
    });

    it("returns 200 with all for an empty letter", async () => {
      expect(await list({ letter: "" })).toMatchObject({ max: sorted.length });
    });
  });

  it.each(["ab", "1", "!", "##", "́", "A,B"])("returns 400 for the letter %s", async (letter) => {
    expect(await list({ letter })).toEqual(invalidParameter("letter"));
  });

  it("returns 200 with the sort name on request alone", async () => {
    await aContributor(stack.sql, { first_name: "Osamu", last_name: "Tezuka" });
    await aContributor(stack.sql, { first_name: "Prince" });
    await aContributor(stack.sql, { first_name: "手塚", last_name: "治虫", sort_name: "てづか おさむ" });

    const { contributors } = await list({ include: "sort_name", order: "sort-name-asc" });
    expect(contributors.map(({ sort_name }: { sort_name: string }) => sort_name)).toEqual([
      "Prince",
      "Tezuka, Osamu",
      "てづか おさむ",
    ]);
    for (const each of (await list()).contributors) expect(each).not.toHaveProperty("sort_name");
  });
});

describe("A sort name", () => {
  const edit = async (id: number, body: object, type = "application/merge-patch+json") =>
    (await editor.call("admin-contributors/edit", { path: { id }, body, headers: { "Content-Type": type } })).body;
  const shown = async (id: number) =>
    (await editor.call("admin-contributors/id", { path: { id }, query: { include: "sort_name", lock: "none" } })).body
      .sort_name;
  const updated = envelope(200, "Contributor updated");

  it("is given when the contributor is added, whose slug it makes if the name cannot be read", async () => {
    const body = { first_name: "手塚", last_name: "治虫", sort_name: " Tezuka, Osamu " };

    expect((await editor.call("admin-contributors/add", { body })).body).toEqual(envelope(200, "Contributor added"));

    const rows = await stack.sql`select slug, sort_name from contributors`;
    expect(rows).toEqual([{ slug: "tezuka-osamu", sort_name: "Tezuka, Osamu" }]);
  });

  describe("of Vincent van Gogh", () => {
    let id: number;
    const given = () => edit(id, { sort_name: "Gogh, Vincent van" });

    beforeEach(async () => {
      ({ id } = await aContributor(stack.sql, { first_name: "Vincent", last_name: "van Gogh" }));
    });

    it("follows from the name", async () => {
      expect(await edit(id, { last_name: "Van Gogh" })).toEqual(updated);

      expect(await shown(id)).toBe("Van Gogh, Vincent");
    });

    it("still follows from the name where it was given as it is", async () => {
      expect(await edit(id, { sort_name: "van Gogh, Vincent" })).toEqual(updated);
      await edit(id, { last_name: "Van Gogh" });

      expect(await shown(id)).toBe("Van Gogh, Vincent");
    });

    it("stays where another one was given", async () => {
      expect(await given()).toEqual(updated);
      await edit(id, { first_name: "Vincent Willem" });

      expect(await shown(id)).toBe("Gogh, Vincent van");
    });

    it("follows from the name again when a merge patch empties it", async () => {
      await given();

      expect(await edit(id, { sort_name: null })).toEqual(updated);

      expect(await shown(id)).toBe("van Gogh, Vincent");
    });

    it("follows from the name again when a plain edit leaves it out", async () => {
      await given();

      expect(await edit(id, { first_name: "Theo" }, "application/json")).toEqual(updated);

      expect(await shown(id)).toBe("Theo");
    });
  });
});

describe("A sort name in a line of an import", () => {
  const person = { kind: "contributor", externalId: "shota", first_name: "შოთა", last_name: "რუსთაველი" };
  const importing = (fields: object) =>
    operate(stack, "ops-import", { source: JSON.stringify({ ...person, ...fields }) });
  const stored = () => stack.sql`select sort_name, version from contributors`;

  it("means that it follows from the name, if it is the default", async () => {
    await importing({ sort_name: "რუსთაველი, შოთა" });

    expect(await stored()).toEqual([{ sort_name: null, version: 1 }]);
  });

  it("changes nothing the second time, if it is the default", async () => {
    await importing({ sort_name: "რუსთაველი, შოთა" });

    expect(await importing({ sort_name: "რუსთაველი, შოთა", gender: null })).toMatchObject({ unchanged: 1 });
    expect(await stored()).toEqual([{ sort_name: null, version: 1 }]);
  });

  it("stays until a line empties it", async () => {
    await importing({ sort_name: "Rustaveli" });
    await importing({ first_name: "Shota" });
    expect(await stored()).toEqual([{ sort_name: "Rustaveli", version: 2 }]);

    await importing({ first_name: "Shota", sort_name: "" });
    expect(await stored()).toEqual([{ sort_name: null, version: 3 }]);
  });
});

describe("GET /contributors/letters", () => {
  const letters = async (client = 1) => await stack.call("contributors/letters", { query: { client } });

  it("returns 200 with the published contributors of the client by letter, as the lists have them", async () => {
    expect((await letters()).body).toEqual([]);
    const { id } = await aContributor(stack.sql, { first_name: "Ann", last_name: "Lee" });
    await aContributor(stack.sql, { first_name: "Æsop", client_id: 1 });
    await aContributor(stack.sql, { first_name: "Łukasz", client_id: 2 });
    await aContributor(stack.sql, { first_name: "Lou", public: false });
    await aContributor(stack.sql, { first_name: "50 Cent" });
    await aContributor(stack.sql, { first_name: "Жук" });

    const { body, headers } = await letters();
    expect(body).toEqual([
      { letter: "#", count: 1 },
      { letter: "A", count: 1 },
      { letter: "L", count: 1 },
      { letter: "Ж", count: 1 },
    ]);
    expect(headers.get("Cache-Tag")).toBe("contributors");
    for (const { letter, count } of body) expect((await lists["GET /contributors"]({ letter })).max).toBe(count);
    expect((await letters(2)).body).toContainEqual({ letter: "L", count: 2 });

    await stack.sql`update contributors set last_name = 'Marx' where id = ${id}`;
    expect((await letters()).body.map(({ letter }: { letter: string }) => letter)).toEqual(["#", "A", "M", "Ж"]);
    await stack.sql`update contributors set public = false where id = ${id}`;
    expect((await letters()).body.map(({ letter }: { letter: string }) => letter)).toEqual(["#", "A", "Ж"]);
  });
});

describe("A letter that GET /contributors/letters counts", () => {
  it.each([
    ["an ideograph for zero", "〇谷"],
    ["an emoji that is a letter", "🅰BBA"],
    ["a Runic golden number", "ᛮ"],
    ["a vowel sign without its consonant", "ाकाश"],
  ])("selects the contributors of both lists: %s", async (_, first_name) => {
    await aContributor(stack.sql, { first_name });

    const [counted] = (await stack.call("contributors/letters", { query: { client: 1 } })).body;

    for (const list of Object.values(lists)) expect(await list({ letter: counted.letter })).toMatchObject({ max: 1 });
  });
});

describe("GET /publishers/letters", () => {
  it("returns 200 with the publishers by the first letter of their names, as the list has them in any order", async () => {
    const house = async (name: string) => (await aPublisher(stack.sql, { name })).id;
    const [zoo, glenat] = [await house("Zoo"), await house("Glénat")];
    const [, gallimard] = [await house("Éditions"), await house("gallimard")];
    const list = async (query: Query) => (await stack.call("publishers/list", { query })).body;
    const idsOf = async (query: Query) => (await list(query)).publishers.map(({ id }: { id: number }) => id);

    const { body, headers } = await stack.call("publishers/letters");

    expect(body).toEqual([
      { letter: "E", count: 1 },
      { letter: "G", count: 2 },
      { letter: "Z", count: 1 },
    ]);
    expect(headers.get("Cache-Tag")).toBe("publishers");
    expect(await list({ letter: "g" })).toMatchObject({ max: 2, from: 0, to: 2, count: 2 });
    expect(await idsOf({ letter: "g" })).toEqual([glenat, gallimard]);
    expect(await idsOf({ letter: "G", order: "name-asc" })).toEqual([gallimard, glenat]);
    expect(await idsOf({ letter: "G", search: "mar" })).toEqual([gallimard]);
    await stack.sql`update publishers set name = 'Abc' where id = ${zoo}`;
    expect(await idsOf({ letter: "A" })).toEqual([zoo]);
    expect(await list({ letter: "Z" })).toMatchObject({ max: 0 });
    expect(await list({ letter: "ab" })).toEqual(invalidParameter("letter"));
  });
});
