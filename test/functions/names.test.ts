import { beforeAll, describe, expect, it } from "vitest";
import { aContributor } from "../support/catalogue.ts";
import { invalidParameter, missingParameters } from "../support/envelope.ts";
import { anAdministrator, aUser } from "../support/people.ts";
import { aPermission, aRole } from "../support/records.ts";
import { useStack } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";

/* What names may hold (lib/contract/README.md, "Bad input"). */

const stack = useStack();
let as: string;
let ids: Readonly<Record<"user" | "role" | "permission" | "contributor" | "friend", number>>;

beforeAll(async () => {
  const { sql } = stack;
  as = (await anAdministrator(sql)).token;
  ids = {
    user: (await aUser(sql)).id,
    role: (await aRole(sql)).id,
    permission: (await aPermission(sql)).id,
    contributor: (await aContributor(sql)).id,
    friend: (await aContributor(sql)).id,
  };
});

const contributor = (fields: object) => ({ first_name: "Somebody", ...fields });
const described = (fields: object) => ({ description: "a", language: "English", ...fields });

/** Every name of the interface: the endpoint, the record, the parameter to blame, and a body with the name. */
const names: readonly (readonly [string, keyof typeof ids, string, (name: string) => object])[] = [
  ["admin-users/edit", "user", "username", (username) => ({ username })],
  ["admin-roles/add", "role", "name", (name) => ({ name, description: "a" })],
  ["admin-roles/edit", "role", "name", (name) => ({ name })],
  ["admin-permissions/add", "permission", "name", (name) => ({ name, description: "a" })],
  ["admin-permissions/edit", "permission", "name", (name) => ({ name, description: "a" })],
  ["admin-contributors/add", "contributor", "first_name", (first_name) => ({ first_name })],
  ["admin-contributors/add", "contributor", "last_name", (last_name) => contributor({ last_name })],
  ["admin-contributors/edit", "contributor", "first_name", (first_name) => ({ first_name })],
  ["admin-contributors/edit", "contributor", "last_name", (last_name) => contributor({ last_name })],
  ["admin-contributors/edit", "contributor", "gender", (gender) => contributor({ gender })],
  ["admin-contributors/edit", "contributor", "type", (type) => contributor({ type })],
  ...(
    [
      ["added_aliases", (name) => name],
      ["added_aliases", (name) => ({ name })],
      ["added_relations", (relation_type) => ({ relation_id: ids.friend, relation_type })],
      ["modified_relations", (relation_type) => ({ id: 1, relation_type })],
      ["added_descriptions", (language) => described({ language })],
      ["modified_descriptions", (language) => ({ id: 1, language })],
    ] satisfies [string, (name: string) => unknown][]
  ).map(
    ([parameter, element]) =>
      [
        "admin-contributors/edit",
        "contributor",
        parameter,
        (name: string) => contributor({ [parameter]: [element(name)] }),
      ] as const,
  ),
];

const refused = [
  ..."\0\u0007\t\n\r\u0085\u2028\u2029",
  ..."\u00ad\u034f\u061c\u115f\u180e\u200b\u200e\u200f\u202a\u202e\u2060\u2066\u3164\ufeff\uffa0\ufff9",
  "\u{1d173}",
  "\u{e0041}",
  ..."\u200c\u200d\ufe00\ufe0f\u180b\u2800\ufdd0\ufffe\uffff",
  "\u{e0100}",
  "\u{10ffff}",
];

const codeOf = (character: string) => `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`;

describe.each(names)("A name given to %s (%s, %s)", (endpoint, record, parameter, bodyOf) => {
  it("is rejected with characters that are invalid, invisible or change the direction of text", async () => {
    await unchanged(stack, async () => {
      for (const character of refused) {
        const request = { as, path: { id: ids[record] }, body: bodyOf(`Edi${character}tor`) };
        const { body } = await stack.call(endpoint, request);
        expect([codeOf(character), body]).toEqual([codeOf(character), invalidParameter(parameter)]);
      }
      return { status: 0, headers: new Headers(), body: undefined };
    });
  });
});

const add = (name: string) => stack.call("admin-roles/add", { as, body: { name, description: "Made for a test" } });
const rolesNamed = async (name: string) => (await stack.sql`select from roles where name = ${name}`).length;

describe("A name", () => {
  it.each([
    ["space between words", "Ursula K. Le Guin"],
    ["the space of a Japanese name", "手塚\u3000治虫"],
    ["marks that combine", "e\u0301"],
    ["a joiner between Arabic letters", "می\u200cخواهم"],
    ["a joiner that shapes a letter", "ක්\u200dෂ"],
    ["a joiner behind the last virama", "അവന്\u200d"],
    ["a joiner before a virama", "র\u200d্যাচেল"],
    ["Adlam letters kept apart", "𞤀\u200c𞤁"],
    ["emoji in sequence", "👩\u200d🚀 ❤\ufe0f 1\ufe0f\u20e3 🇯🇵"],
    ["emoji in a longer sequence", "👩🏽\u200d❤\ufe0f\u200d💋\u200d👨🏻 🏳\ufe0f\u200d🌈"],
    ["an ideograph in one of its forms", "葛\u{e0100}城"],
    ["a Mongolian letter in one of its forms", "ᠮᠠ\u180b"],
  ])("may hold %s", async (_, name) => {
    expect((await add(name)).status).toBe(200);
    expect(await rolesNamed(name)).toBe(1);
  });

  it.each([
    ["behind the last letter", "administrator\u200d"],
    ["before the first letter", "\u200dadministrator"],
    ["between Latin letters", "admin\u200cistrator"],
    ["between Cyrillic letters", "ад\u200dмин"],
    ["between Hebrew letters", "אב\u200dג"],
    ["between ideographs", "手\u200d塚"],
    ["between digits", "1\u200d2"],
    ["between Arabic digits", "١\u200c٢"],
    ["behind the last Arabic letter", "می\u200c"],
    ["twice", "می\u200c\u200cخواهم"],
    ["behind an emoji", "👩\u200d"],
    ["before an emoji", "a\u200d🚀"],
    ["that is none of emoji", "👩\u200c🚀"],
    ["for the form of a letter", "a\ufe0f"],
    ["for the form of a digit", "1\ufe0f"],
    ["for the form of a kana", "か\u{e0100}"],
    ["for two forms of an ideograph", "葛\u{e0100}\u{e0101}"],
    ["for the form of a Mongolian letter, behind a Latin one", "a\u180b"],
  ])("may not hold a joiner or a variation selector %s", async (_, name) => {
    expect((await unchanged(stack, () => add(name))).body).toEqual(invalidParameter("name"));
  });

  it.each([
    ["a joiner", "کتاب\u200cخانه", "کتابخانه"],
    ["a variation selector", "❤\ufe0f of stone", "❤ of stone"],
    ["the number of blanks between words", "K  äse", "K äse"],
    ["their kind", "青山\u3000剛昌", "青山 \u00a0 剛昌"],
    ["one of another form", "葛\u{e0101}飾", "葛\u{e0100}飾"],
  ])("is taken where it differs only in %s, and is found without", async (_, name, same) => {
    const other = await aUser(stack.sql);
    const requests = (given: string) =>
      [
        ["admin-roles/add", { name: given, description: "a" }],
        ["admin-permissions/add", { name: given, description: "a" }],
        ["admin-contributors/add", { first_name: given, last_name: "Same" }],
        ["admin-contributors/add", { first_name: "Same", last_name: given }],
        ["admin-users/edit", { username: given }],
      ] as const;
    const statuses = (given: string, user: number) =>
      Promise.all(
        requests(given).map(
          async ([endpoint, body]) => (await stack.call(endpoint, { as, path: { id: user }, body })).status,
        ),
      );

    expect(await statuses(name, ids.user)).toEqual([200, 200, 200, 200, 200]);
    expect(await statuses(same, other.id)).toEqual([409, 409, 409, 409, 409]);
    for (const search of [name, same]) {
      const { users } = (await stack.call("admin-users/list", { as, query: { search } })).body;
      expect(users.map(({ username }: { username: string }) => username)).toEqual([name]);
      const { contributors } = (await stack.call("admin-contributors/list", { as, query: { client: 1, search } })).body;
      expect(contributors).toHaveLength(2);
    }
  });

  it.each([
    "",
    " ",
    "\u3000",
    "\n",
    "\u200b",
    "\u202e",
    "\u3164",
    "\u200d",
    "\ufe0f",
    "\u2800",
    " \u00ad \ufeff",
    "\0",
  ])("is missing where nothing of it can be seen: %j", async (name) => {
    expect((await unchanged(stack, () => add(name))).body).toEqual(missingParameters);
  });

  it("loses surrounding white space, line breaks included", async () => {
    expect((await add("\r\n\t Surrounded\u2028\ufeff")).status).toBe(200);
    expect(await rolesNamed("Surrounded")).toBe(1);
  });

  it("is null when it is optional and has no visible character", async () => {
    const body = { first_name: "Unseen", last_name: "\u200b", gender: "\u2060", type: "\u200d" };
    await stack.call("admin-contributors/edit", { as, path: { id: ids.friend }, body });

    const [row] = await stack.sql`select last_name, gender, type from contributors where id = ${ids.friend}`;
    expect(row).toEqual({ last_name: null, gender: null, type: null });
  });

  it("that is already stored can be read", async () => {
    const name = "Odd\u200b\nname";
    const [row] = await stack.sql`insert into roles (name, description) values (${name}, '') returning id`;

    expect((await stack.call("admin-roles/id", { as, path: { id: row?.id } })).body).toMatchObject({ name });
  });
});
