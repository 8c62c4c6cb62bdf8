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

  it("returns 200 in the order of sort names and backwards, page by page", async () => {
    await add();

    expect(namesOf(await list({ order: "sort-name-asc" }))).toEqual(sorted);
    expect(namesOf(await list({ order: "sort-name-desc" }))).toEqual(sorted.toReversed());
    const pages = [];
    for (let offset = 0; offset < sorted.length; offset += 3)
      pages.push(...namesOf(await list({ order: "sort-name-asc", limit: 3, offset })));
    expect(pages).toEqual(sorted);
    expect(namesOf(await list({ order: "sort-name-asc", search: "z" }))).toEqual(["Le, Zara", "Zz 2, A", "Zz 10, A"]);
    expect(namesOf(await list({ order: "sort-name-desc", search: "zz" }))).toEqual(["Zz 10, A", "Zz 2, A"]);
  });

  it("returns 200 with those of a letter, in every order, and with their exact number", async () => {
    await add();
    const [zara, ursula, all] = ["Le, Zara", "Le Guin, Ursula K.", { max: 2, from: 0, to: 2 }];

    for (const letter of ["L", "l", "Ł"]) {
      const found = await list({ letter, order: "sort-name-asc" });
      expect([namesOf(found), found]).toMatchObject([[zara, ursula], all]);
    }
    for (const order of ["name-asc", "sort-name-desc"]) {
      const found = await list({ letter: "L", order });
      expect([namesOf(found), found]).toMatchObject([[ursula, zara], all]);
    }
    expect(await list({ letter: "L", limit: 1, offset: 1 })).toMatchObject({
      contributors: [{ first_name: "Zara" }],
      max: 2,
    });
    expect(await list({ letter: "L", search: "guin" })).toMatchObject({
      contributors: [{ first_name: "Ursula K." }],
      max: 1,
    });
    expect(await list({ letter: "L", search: "z" })).toMatchObject({ contributors: [{ first_name: "Zara" }], max: 1 });
    expect(namesOf(await list({ letter: "#" }))).toEqual(["13"]);
    expect(await list({ letter: "Q" })).toEqual({ contributors: [], max: 0, from: 0, to: 0 });
    expect(await list({ letter: "" })).toMatchObject({ max: sorted.length });
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

  it("follows from the name until another one is given, and again when that is emptied", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Vincent", last_name: "van Gogh" });

    expect(await edit(id, { sort_name: "van Gogh, Vincent" })).toEqual(updated);
    expect(await edit(id, { last_name: "Van Gogh" })).toEqual(updated);
    expect(await shown(id)).toBe("Van Gogh, Vincent");

    expect(await edit(id, { sort_name: "Gogh, Vincent van" })).toEqual(updated);
    expect(await edit(id, { first_name: "Vincent Willem" })).toEqual(updated);
    expect(await shown(id)).toBe("Gogh, Vincent van");

    expect(await edit(id, { sort_name: null })).toEqual(updated);
    expect(await shown(id)).toBe("Van Gogh, Vincent Willem");

    await edit(id, { sort_name: "Gogh" });
    expect(await edit(id, { first_name: "Theo" }, "application/json")).toEqual(updated);
    expect(await shown(id)).toBe("Theo");
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
