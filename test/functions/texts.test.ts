import { beforeAll, describe, expect, it } from "vitest";
import { aContributor } from "../support/catalogue.ts";
import { invalidParameter, missingParameters } from "../support/envelope.ts";
import { anAdministrator } from "../support/people.ts";
import { aPermission, aRole } from "../support/records.ts";
import { useStack } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";

/* What descriptions and sources may hold (lib/contract/README.md, "Bad input"). */

const stack = useStack();
let as: string;
let ids: Readonly<Record<"role" | "permission" | "contributor" | "description", number>>;

beforeAll(async () => {
  const { sql } = stack;
  as = (await anAdministrator(sql)).token;
  const contributor = await aContributor(sql);
  const [description] = await sql`
    insert into contributor_descriptions (contributor_id, description, language)
    values (${contributor.id}, 'a', 'English')
    returning id
  `;
  ids = {
    role: (await aRole(sql)).id,
    permission: (await aPermission(sql)).id,
    contributor: contributor.id,
    description: description?.id,
  };
});

let count = 0;
const named = (description: string) => ({ name: `name ${++count}`, description });
const contributor = (parameter: string, element: object) => ({ first_name: "Somebody", [parameter]: [element] });
const added = (element: object) =>
  contributor("added_descriptions", { description: "a", language: "English", ...element });
const modified = (element: object) => contributor("modified_descriptions", { id: ids.description, ...element });

/** Every text of the interface: the endpoint, the record, the parameter to blame, and a body with the text. */
const texts: readonly (readonly [string, keyof typeof ids, string, (text: string) => object])[] = [
  ["admin-roles/add", "role", "description", named],
  ["admin-roles/edit", "role", "description", named],
  ["admin-permissions/add", "permission", "description", named],
  ["admin-permissions/edit", "permission", "description", named],
  ["admin-contributors/edit", "contributor", "added_descriptions", (description) => added({ description })],
  ["admin-contributors/edit", "contributor", "added_descriptions", (source) => added({ source })],
  ["admin-contributors/edit", "contributor", "modified_descriptions", (description) => modified({ description })],
  ["admin-contributors/edit", "contributor", "modified_descriptions", (source) => modified({ source })],
];

/** All control characters but tab and line breaks. */
const refused = [
  ...Array.from({ length: 0x20 }, (_, code) => code).filter((code) => ![0x09, 0x0a, 0x0d].includes(code)),
  ...Array.from({ length: 0x21 }, (_, index) => 0x7f + index),
];

describe.each(texts)("A text given to %s (%s, %s)", (endpoint, record, parameter, bodyOf) => {
  const send = (text: string) => stack.call(endpoint, { as, path: { id: ids[record] }, body: bodyOf(text) });

  it("is rejected with a control character other than tab and line break, and nothing changes", async () => {
    await unchanged(stack, async () => {
      for (const code of refused) {
        const { body } = await send(`first${String.fromCharCode(code)}second`);
        expect([code, body]).toEqual([code, invalidParameter(parameter)]);
      }
      return { status: 0, headers: new Headers(), body: undefined };
    });
  });

  it("may hold tabs and line breaks, of which each becomes one \\n, and whatever else a text needs", async () => {
    const rest = '\u00ad\u200b\u202e\u2028 می\u200cخواهم 👩\u200d🚀 "\\\\';

    expect((await send(`\r\n first\tline\nsecond\r\nthird\rfourth\r\n\r\n${rest}\t`)).status).toBe(200);

    const stored = await stack.sql`
      select text
      from (
        select description as text from roles
        union all select description from permissions
        union all select description from contributor_descriptions
        union all select source from contributor_descriptions
      ) as texts
      where text like 'first%'
    `;
    expect(stored).toEqual([{ text: `first\tline\nsecond\nthird\nfourth\n\n${rest}` }]);
    await stack.sql`update roles set description = ''`;
    await stack.sql`update permissions set description = ''`;
    await stack.sql`update contributor_descriptions set description = '', source = ''`;
  });
});

describe("A description", () => {
  it.each([" \t\r\n\u2028", "\u200b", "\u00ad \u2060\n\u2800\u3164"])(
    "is missing where nothing of it can be seen: %j",
    async (text) => {
      for (const [endpoint, record, parameter, bodyOf] of texts) {
        // A role's may be left out of an edit, as the source of a contributor's.
        if (endpoint === "admin-roles/edit" || JSON.stringify(bodyOf("")).includes("source")) continue;
        const { body } = await stack.call(endpoint, { as, path: { id: ids[record] }, body: bodyOf(text) });
        const isElement = endpoint.startsWith("admin-contributors");
        expect([endpoint, body]).toEqual([endpoint, isElement ? invalidParameter(parameter) : missingParameters]);
      }
    },
  );
});
