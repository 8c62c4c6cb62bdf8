import { beforeAll, describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor, aWholeContributor } from "../support/catalogue.ts";
import { identifier } from "../support/database.ts";
import { invalidParameter, missingParameters } from "../support/envelope.ts";
import { aUser } from "../support/people.ts";
import { aPermission, aRole, defaultRoleId, type Named } from "../support/records.ts";
import { bodyOf, type Table, tableOf } from "../support/requests.ts";
import { useStack } from "../support/stack.ts";
import { expectEach, unchanged } from "../support/unchanged.ts";

/* What names, descriptions and sources may hold (lib/contract/README.md, "Bad input"), and records that hold as much as they may. */

const stack = useStack();
const administrator = useAdministrator(stack);
/** Ids of records, and of elements of the contributor's. */
let ids: Readonly<Record<Table | "friend" | "description", number>>;

beforeAll(async () => {
  const { id: contributors, friend, description } = await aWholeContributor(stack.sql);
  const [users, roles, permissions] = [await aUser(stack.sql), await aRole(stack.sql), await aPermission(stack.sql)];
  ids = { users: users.id, roles: roles.id, permissions: permissions.id, contributors, friend: friend.id, description };
});

/** `absent` is the response to a text of which nothing can be seen; undefined where the field is optional. */
interface Field {
  readonly endpoint: string;
  readonly parameter: string;
  readonly bodyOf: (text: string) => object;
  readonly lengthMax: number;
  readonly absent: object | undefined;
}

/** A field that the body has by itself. */
const field = (endpoint: string, parameter: string, lengthMax: number, absent?: object): Field => ({
  endpoint,
  parameter,
  bodyOf: (text) => ({ ...bodyOf(), [parameter]: text }),
  lengthMax,
  absent,
});
/** A field of an element of a contributor's. */
const element = (
  parameter: string,
  lengthMax: number,
  elementOf: (text: string) => unknown,
  absent: object | null = invalidParameter(parameter),
): Field => ({
  endpoint: "admin-contributors/edit",
  parameter,
  bodyOf: (text) => ({ ...bodyOf(), [parameter]: [elementOf(text)] }),
  lengthMax,
  absent: absent ?? undefined,
});
const described = (fields: object) => ({ description: "a", language: "English", ...fields });

/** Every name of the interface. */
const names: readonly Field[] = [
  field("admin-users/edit", "username", 255, missingParameters),
  field("admin-roles/add", "name", 255, missingParameters),
  field("admin-roles/edit", "name", 255, missingParameters),
  field("admin-permissions/add", "name", 255, missingParameters),
  field("admin-permissions/edit", "name", 255, missingParameters),
  field("admin-contributors/add", "first_name", 255, missingParameters),
  field("admin-contributors/add", "last_name", 255),
  field("admin-contributors/add", "disambiguation", 255),
  field("admin-contributors/edit", "disambiguation", 255),
  field("admin-contributors/add", "sort_name", 255),
  field("admin-contributors/edit", "sort_name", 255),
  field("admin-contributors/edit", "first_name", 255, missingParameters),
  field("admin-contributors/edit", "last_name", 255),
  field("admin-contributors/edit", "gender", 255),
  field("admin-contributors/edit", "type", 255),
  element("added_aliases", 255, (name) => name),
  element("added_aliases", 255, (name) => ({ name })),
  element("added_relations", 255, (relation_type) => ({ relation_id: ids.friend, relation_type })),
  element("modified_relations", 255, (relation_type) => ({ id: 1, relation_type })),
  element("added_descriptions", 255, (language) => described({ language })),
  element("modified_descriptions", 255, (language) => ({ id: 1, language })),
];

/** Every other text of the interface. */
const texts: readonly Field[] = [
  field("admin-roles/add", "description", 2_000, missingParameters),
  field("admin-roles/edit", "description", 2_000),
  field("admin-permissions/add", "description", 2_000, missingParameters),
  field("admin-permissions/edit", "description", 2_000, missingParameters),
  element("added_descriptions", 20_000, (description) => described({ description, source: crypto.randomUUID() })),
  element("added_descriptions", 255, (source) => described({ source, language: "Greek" }), null),
  element("modified_descriptions", 20_000, (description) => ({ id: ids.description, description })),
  element("modified_descriptions", 255, (source) => ({ id: ids.description, source }), null),
];

const send = ({ endpoint, bodyOf }: Field, text: string) =>
  administrator.call(endpoint, { path: { id: ids[tableOf({ path: `/${endpoint}` })] }, body: bodyOf(text) });

const refuseEach = (field: Field, all: readonly string[], response: object) =>
  expectEach(stack, all, (text) => send(field, text), response);

/** All but tab and line breaks. */
const controls = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).filter((each) =>
  /[^\t\n\r\x20-\x7e]/.test(each),
);
/** Invalid, invisible, or changing the direction of text; joiners and selectors without what they join. */
const unfitForNames = [
  ..."\0\u0007\t\n\r\u0085\u2028\u2029\u00ad\u034f\u061c\u115f\u180e\u200b\u200e\u200f\u202a\u202e\u2060\u2066\u3164\ufeff",
  ..."\uffa0\ufff9\u200c\u200d\ufe00\ufe0f\u180b\u2800\ufdd0\ufffe\uffff\u{1d173}\u{e0041}\u{e0100}\u{10ffff}",
];
const unseen = "| \t\r\n\u2028|\u3000|\u200b|\u202e|\u3164|\u200d|\ufe0f| \u00ad \ufeff\u2060\u2800".split("|");

const all = [
  ...names.map((field) => ({ kind: "name", unfit: unfitForNames, ...field })),
  ...texts.map((field) => ({ kind: "text", unfit: controls, ...field })),
];

describe.each(all)("A $kind for $endpoint ($parameter)", ({ unfit, ...field }) => {
  const { parameter, lengthMax, absent } = field;

  it("is rejected with invalid characters, or if it is too long, space around it included", async () => {
    const others = ["a\ud800b", "n".repeat(lengthMax + 1), ` ${"n".repeat(lengthMax)}`];

    await refuseEach(field, [...unfit.map((each) => `Edi${each}tor`), ...others], invalidParameter(parameter));
  });

  it.runIf(absent)("is missing where nothing of it can be seen", async () => {
    await refuseEach(field, unseen, absent ?? {});
  });

  it.runIf(unfit === controls)(
    "may hold tabs and line breaks, of which each becomes one \\n, and whatever else a text needs, up to its length",
    async () => {
      const rest = '\u00ad\u200b\u202e\u2028 می\u200cخواهم 👩\u200d🚀 "\\\\';

      expect((await send(field, `\r\n first\tline\nsecond\r\nthird\rfourth\r\n\r\n${rest}\t`)).status).toBe(200);

      const [stored] = await stack.sql`
      select after from changed_rows where after::text like '%fourth%' order by change_id desc limit 1
    `;
      expect(Object.values(stored?.after)).toContain(`first\tline\nsecond\nthird\nfourth\n\n${rest}`);
      expect((await send(field, "d".repeat(lengthMax))).status).toBe(200);
    },
  );
});

const add = (name: string) => administrator.call("admin-roles/add", { body: bodyOf(name) });

describe("A name", () => {
  it.each([
    ["white space around it, line breaks included, which it loses", "\r\n\t Surrounded\u2028\ufeff"],
    ["the space of a Japanese name", "手塚\u3000治虫"],
    ["marks that combine", "e\u0301"],
    ["a joiner between Arabic letters", "می\u200cخواهم"],
    ["a joiner that shapes a letter", "ක්\u200dෂ"],
    ["a joiner behind the last virama", "അവന്\u200d"],
    ["a joiner before a virama", "র\u200d্যাচেল"],
    ["Adlam letters kept apart", "𞤀\u200c𞤁"],
    ["emoji in sequence", "👩🏽\u200d❤\ufe0f\u200d💋\u200d👨🏻 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 🇯🇵"],
    ["an ideograph in one of its forms", "葛\u{e0100}城"],
    ["a Mongolian letter in one of its forms", "ᠮᠠ\u180b"],
    ["a non-joiner behind the last letter that joins", "سارە شیروانه\u200c"],
    ["a joiner behind an initial", "ه\u200d. ا. سایه"],
    ["a Mongolian vowel kept apart", "ᠣᠶᠤᠨ\u180eᠠ"],
    ["non-joiners at the end of each word", "بنه\u200c (نه\u200c) ره\u200c-ژه\u200c، گه\u200c"],
    [
      "flags of regions",
      "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} 🏴\u{e0075}\u{e0073}\u{e0074}\u{e0078}\u{e007f}",
    ],
  ])("may hold %s", async (_, name) => {
    expect((await add(name)).status).toBe(200);
    expect(await stack.sql`select from roles where name = ${name.trim()}`).toHaveLength(1);
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
    ["that joins, behind the last Arabic letter", "می\u200d"],
    ["that parts, behind the last Arabic digit", "می١\u200c"],
    ["before a Latin letter", "می\u200ca"],
    ["twice", "می\u200c\u200cخواهم"],
    ["twice at the end of a word", "می\u200c\u200c"],
    ["behind an emoji", "👩\u200d"],
    ["before an emoji", "a\u200d🚀"],
    ["that is none of emoji", "👩\u200c🚀"],
    ["for the form of a letter", "a\ufe0f"],
    ["for the form of a digit", "1\ufe0f"],
    ["for the form of a kana", "か\u{e0100}"],
    ["for two forms of an ideograph", "葛\u{e0100}\u{e0101}"],
    ["for the form of a Mongolian letter, behind a Latin one", "a\u180b"],
    ["for a Mongolian vowel, behind a Latin letter", "a\u180ee"],
  ])("may not hold a joiner or a variation selector %s", async (_, name) => {
    expect((await unchanged(stack, () => add(name))).body).toEqual(invalidParameter("name"));
  });

  it.each([
    ["without a flag", "Scotland\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}"],
    ["without an end", "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}"],
    ["for no region", "🏴\u{e0067}\u{e0062}\u{e007f}"],
    ["of capitals", "🏴\u{e0047}\u{e0042}\u{e0053}\u{e007f}"],
  ])("may not hold tag characters %s", async (_, name) => {
    expect((await unchanged(stack, () => add(name))).body).toEqual(invalidParameter("name"));
  });

  it.each([
    ["marks of direction", "\u200fPasted one\u200e\u061c"],
    ["embeddings and isolates", "\u202b\u2068Pasted two\u2069\u202c"],
    ["a byte-order mark and a soft hyphen", "\ufeffPasted three\u00ad"],
    ["word joiners and zero-width spaces between blanks", " \u2060 \u200bPasted four\u200b \u2060 "],
  ])("loses %s at its ends", async (_, name) => {
    expect((await add(name)).status).toBe(200);
    expect(await stack.sql`select from roles where name = ${name.replace(/^\P{L}+|\P{L}+$/gu, "")}`).toHaveLength(1);
  });

  it("that ends in a non-joiner keeps it before marks that it loses", async () => {
    expect((await add("کۆمه\u200c\u200e ")).status).toBe(200);
    expect(await stack.sql`select from roles where name = ${"کۆمه\u200c"}`).toHaveLength(1);
  });

  it.each([
    {
      what: "case, also where a letter becomes two",
      name: "Straße \u0390\u03b0\u0149",
      same: "Straße \u0390\u03b0\u0149".toUpperCase(),
    },
    { what: "a joiner", name: "کتاب\u200cخانه", same: "کتابخانه" },
    { what: "a variation selector", name: "❤\ufe0f of stone", same: "❤ of stone" },
    { what: "the kind of apostrophe", name: "O'Malley", same: "O\u2019Malley" },
    { what: "an apostrophe that is a letter", name: "O\u02bcHara", same: "O\u2018Hara" },
    { what: "an apostrophe that is a tone", name: "O\u02caShea", same: "O'Shea" },
    { what: "the kind of hyphen", name: "Jean-Claude", same: "Jean\u2010Claude" },
    { what: "a double hyphen", name: "レヴィ\u30a0ストロース", same: "レヴィ\u2010ストロース" },
    { what: "a separated vowel", name: "ᠰᠠᠷ\u180eᠠ", same: "ᠰᠠᠷᠠ" },
    { what: "a dash", name: "Marie\u2013Luise", same: "Marie\u2212Luise" },
    { what: "the width of Latin letters", name: "ＷＩＤＥ Ｃ", same: "wide c" },
    { what: "the width of kana", name: "ﾃﾂﾞｶ", same: "テヅカ" },
    { what: "blanks between initials", name: "J. R. R. Zed", same: "J.R.R. Zed" },
    { what: "the number of blanks between words", name: "K  äse", same: "K äse" },
    { what: "their kind", name: "青山\u3000剛昌", same: "青山 \u00a0 剛昌" },
    { what: "one of another form", name: "葛\u{e0101}飾", same: "葛\u{e0100}飾" },
  ])("is taken where it differs only in $what, and is found without", async ({ name, same }) => {
    const other = await aUser(stack.sql);
    const statuses = (text: string, user: number) => {
      const requests = [
        ["admin-roles/add", bodyOf(text)],
        ["admin-permissions/add", bodyOf(text)],
        ["admin-contributors/add", { first_name: text, last_name: "Same" }],
        ["admin-contributors/add", { first_name: "Same", last_name: text }],
        ["admin-users/edit", { username: text }],
      ] as const;
      const replies = requests.map(([endpoint, body]) => administrator.call(endpoint, { path: { id: user }, body }));
      return Promise.all(replies.map(async (reply) => (await reply).status));
    };

    expect(await statuses(name, ids.users)).toEqual([200, 200, 200, 200, 200]);
    expect(await statuses(same, other.id)).toEqual([409, 409, 409, 409, 409]);
    for (const search of [name, same]) {
      const { users } = (await administrator.call("admin-users/list", { query: { search } })).body;
      expect(users.map(({ username }: { username: string }) => username)).toEqual([name]);
      const { body } = await administrator.call("admin-contributors/list", { query: { client: 1, search } });
      expect(body.contributors).toHaveLength(2);
    }
  });

  it("is null when it is optional and has no visible character", async () => {
    const body = { first_name: "Unseen", last_name: "\u200b", gender: "\u2060", type: "\u200d" };
    await administrator.call("admin-contributors/edit", { path: { id: ids.friend }, body });

    const [row] = await stack.sql`select last_name, gender, type from contributors where id = ${ids.friend}`;
    expect(row).toEqual({ last_name: null, gender: null, type: null });
  });

  it("that is already stored can be read", async () => {
    const name = "Odd\u200b\nname";
    const [row] = await stack.sql`insert into roles (name, description) values (${name}, '') returning id`;

    expect((await administrator.call("admin-roles/id", { path: { id: row?.id } })).body).toMatchObject({ name });
  });
});

const call = (name: string, id: number | string, body?: unknown) =>
  administrator.call(name, { path: { id, slug: id }, body });
const idsOf = (all: readonly { id: number }[]) => all.map(({ id }) => id);
const numbered = (length: number, textOf: (number: number) => string) =>
  Array.from({ length }, (_, number) => textOf(number));
/** Roles or permissions of these names, all with the same description. */
const several = (table: "roles" | "permissions", names: readonly string[], description = "") => stack.sql<Named[]>`
  insert into ${identifier(table)} (name, description)
  select name, ${description} from unnest(${names as string[]}::text[]) as name
  returning id, name
`;
const unique = () => crypto.randomUUID();

it("What exceeds a result of the Data API is not mixed from two states when it changes meanwhile", async () => {
  const role = await aRole(stack.sql);
  const longest = "d".repeat(20_000);
  const ids = idsOf(await several("permissions", numbered(60, unique), longest));
  await stack.sql`insert into role_permissions (role_id, permission_id) select ${role.id}, unnest(${ids}::bigint[])`;
  let calls = 0;
  stack.dataApi.intercept(async () => {
    calls += 1;
    if (calls === 5) await stack.sql`update permissions set description = '' where id = any(${ids})`;
    return undefined;
  });

  const { body } = await call("admin-roles/id", role.id);

  const shown = body.permissions.map(({ description }: { description: string }) => description);
  expect(shown).toEqual(Array(60).fill(longest));
  expect(calls).toBeGreaterThan(5);
});

/** The longest legal text of a character, in UTF-16 code units; white space at its ends would be removed. */
const longestOf = (character: string, length: number) =>
  `x${character.repeat(Math.floor((length - 2) / character.length))}x`;

/** The longest that a contributor, a role or a user can be, in the characters that become the longest in JSON, and in JSON in JSON. */
describe.each([
  ["backslashes, four bytes each", "\\"],
  ["line separators", "\u2028"],
])("The longest record is answered, in %s", (_, character) => {
  /** Names hold no line breaks. */
  const nameCharacter = character === "\\" ? character : "漢";
  const longestName = longestOf(nameCharacter, 255);
  const uniqueName = (number: number) => `${number}`.padStart(4, "0") + longestOf(nameCharacter, 251);
  const twoThousand = longestOf(character, 2_000);

  it("as details of a contributor, and none of its lists gets longer", async () => {
    const { sql } = stack;
    const { id, slug } = await aContributor(sql, { public: true });
    const others = await sql<{ id: number }[]>`
      insert into contributors (first_name, last_name, slug, public)
      select name, ${longestName}, 'other-' || gen_random_uuid(), true
      from unnest(${numbered(100, uniqueName)}::text[]) as name
      on conflict (identity_key(first_name), identity_key(last_name), identity_key(disambiguation)) do update set public = true
      returning id
    `;
    const description = { description: longestOf(character, 20_000), language: longestName, source: longestName };
    const names = { first_name: longestName, last_name: longestName };
    const edit = (body: object) => call("admin-contributors/edit", id, { ...names, ...body });
    const links = numbered(50, (number) => `https://example.org/${number}#`.padEnd(2_000, "\\"));

    const described = numbered(40, uniqueName).map((language) => ({ ...description, language }));
    for (let added = 0; added < 40; added += 10) await edit({ added_descriptions: described.slice(added, added + 10) });
    const fields = { public: true, gender: longestName, type: longestName, links };
    await edit({
      ...fields,
      added_aliases: numbered(200, uniqueName),
      added_relations: idsOf(others).map((relation_id) => ({ relation_id, relation_type: longestName })),
    });
    const full = (await call("admin-contributors/id", id)).body;
    for (const [kind, element] of Object.entries({
      aliases: "one more",
      descriptions: description,
      relations: { relation_id: others[0]?.id, relation_type: "one more" },
    })) {
      const added = { ...fields, [`added_${kind}`]: [element] };
      expect((await edit(added)).body).toEqual(invalidParameter(`added_${kind}`));
      expect((await edit({ ...added, [`removed_${kind}`]: [full[kind][0].id] })).status).toBe(200);
    }

    for (const { body } of [await call("admin-contributors/id", id), await call("contributor/slug", slug)]) {
      const shown = body.descriptions.map((each: { description: string }) => each.description);
      expect(shown).toEqual(Array(40).fill(description.description));
      expect([body.aliases.length, body.relations.length, body.links.length]).toEqual([200, 100, 50]);
      expect(body.links[0].url).toBe(links[0]);
    }
    await sql`delete from contributors where id = ${id}`;
  });

  it.each([
    { noun: "role", field: "name", kind: "permissions", max: 500, make: () => aRole(stack.sql) },
    {
      noun: "default role",
      field: "name",
      kind: "permissions",
      max: 500,
      make: async () => ({ id: await defaultRoleId(stack.sql), name: "Default" }),
    },
    {
      noun: "user",
      field: "username",
      kind: "roles",
      max: 200,
      make: async () => ({ ...(await aUser(stack.sql)), name: longestName }),
    },
  ] as const)("as details of a $noun, and its list gets no longer", async ({ field, kind, max, make }) => {
    const { id, name } = await make();
    const resource = kind === "roles" ? "admin-users" : "admin-roles";
    const parts = await several(kind, numbered(max, uniqueName), twoThousand);
    const edit = (body: object) => call(`${resource}/edit`, id, { [field]: name, description: twoThousand, ...body });

    expect((await edit({ [`added_${kind}`]: idsOf(parts) })).status).toBe(200);
    const more = await several(kind, [unique()], twoThousand);
    const added = { [`added_${kind}`]: idsOf(more) };
    expect((await edit(added)).body).toEqual(invalidParameter(`added_${kind}`));
    expect((await edit({ ...added, [`removed_${kind}`]: [parts[0]?.id] })).status).toBe(200);
    const { [field]: shown, [kind]: all } = (await call(`${resource}/id`, id)).body;
    expect(shown).toBe(name);
    expect(all.filter((each: { description: string }) => each.description === twoThousand)).toHaveLength(max);
    await stack.sql`delete from ${identifier(kind)} where id = any(${idsOf([...parts, ...more])})`;
    if (kind === "roles") await stack.sql`delete from users where id = ${id}`;
  });
});
