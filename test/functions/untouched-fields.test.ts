import fc from "fast-check";
import { expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor, type Entry } from "../support/catalogue.ts";
import { aUser } from "../support/people.ts";
import { aRole } from "../support/records.ts";
import { useStack } from "../support/stack.ts";

/* Random merge patches, one after the other, against a model of what each names; all else must stay as it was. */

const patches = 3 * Number(process.env.COLOPHON_FUZZ_RUNS ?? 30);
const stack = useStack();
const administrator = useAdministrator(stack);

const patch = async (name: string, id: number, body: object) => {
  const headers = { "Content-Type": "application/merge-patch+json" };
  const reply = await stack.call(name, { as: administrator.token, path: { id }, body, headers });
  expect([body, reply.status]).toEqual([body, 200]);
};

interface Element {
  readonly id: number;
}
type Fields = Readonly<Record<string, unknown>>;

const word = fc.string({ unit: fc.constantFrom("a", "É", "ß", " ", "漫", "'", '"', "\\", "1"), maxLength: 8 });
const name = word.map((text) => `a${text}z`);
/** Text that may be empty, and null, which is the same. */
const emptiable = fc.oneof(name, fc.constantFrom(null, ""));
const flag = fc.constantFrom(true, false, null);
/** Places in the list that a record has; the ids are looked up. */
const places = fc.uniqueArray(fc.nat(9), { maxLength: 2 });
/** Fewer than are removed, so that no list grows to its limit. */
const few = <Value>(value: fc.Arbitrary<Value>) => fc.array(value, { maxLength: 1 });
const some = <Value>(fields: { readonly [Name in keyof Value]: fc.Arbitrary<Value[Name]> }) =>
  fc.record(fields, { requiredKeys: [] });

const elementsAt = (elements: readonly Element[], chosen: readonly number[]) =>
  [...new Set(chosen.map((place) => elements[place % elements.length]?.id))].filter((id) => id !== undefined);

/** What a list of elements has after an edit: those of before without the removed ones, and the added ones, without ids. */
function edited(
  before: readonly Element[],
  removed: readonly number[],
  modified: readonly Element[],
  added: readonly object[],
) {
  const kept = before.filter(({ id }) => !removed.includes(id));
  return {
    kept: kept.map((each) => ({ ...each, ...modified.find(({ id }) => id === each.id) })),
    added,
  };
}

/** A relation without what it shows of the other contributor. */
const relationOf = ({ id, relation_id, relation_type }: Fields) => ({ id, relation_id, relation_type });

/** The elements of a list that were there before, and the others without ids. */
function split(now: readonly Element[], before: readonly Element[]) {
  const known = new Set(before.map(({ id }) => id));
  return {
    kept: now.filter(({ id }) => known.has(id)),
    added: now.filter(({ id }) => !known.has(id)).map(({ id: _, ...element }) => element),
  };
}

it("A merge patch changes nothing of a contributor that it does not name", async () => {
  const contributor = await aContributor(stack.sql, { last_name: "Old", gender: "male", type: "author and artist" });
  const friends = [await aContributor(stack.sql), await aContributor(stack.sql), await aContributor(stack.sql)];
  const detail = async ({ id }: Entry) => {
    const query = { include: "type,public", lock: "none" };
    const { body } = await stack.call("admin-contributors/id", { as: administrator.token, path: { id }, query });
    return { ...body, relations: body.relations.map(relationOf) };
  };
  const others = await Promise.all(friends.map(detail));
  const urls = ["a", "b?c=d", "é", "f%20g"].map((path) => new URL(path, "https://example.com").href);
  const friend = fc.constantFrom(...friends.map(({ id }) => id));
  const language = fc.constantFrom("English", "German", "Japanese");
  const description = { description: name, language, source: fc.oneof(name, fc.constant("")) };
  const relation = { relation_id: friend, relation_type: name };

  const choice = fc.record({
    fields: some({ first_name: name, last_name: emptiable, gender: emptiable, type: emptiable, public: flag }),
    links: fc.option(
      fc.oneof(
        fc.constant(null),
        fc.uniqueArray(fc.tuple(fc.constantFrom(...urls), fc.boolean()), { selector: ([url]) => url }),
      ),
      { nil: undefined },
    ),
    aliases: some({ removed: places, added: few(fc.record({ name })) }),
    descriptions: some({
      removed: places,
      modified: places,
      changes: some(description),
      added: few(fc.record(description)),
    }),
    relations: some({ removed: places, modified: places, changes: some(relation), added: few(fc.record(relation)) }),
  });

  await fc.assert(
    fc.asyncProperty(choice, async ({ fields, links, ...lists }) => {
      const before = await detail(contributor);
      const body: Record<string, unknown> = { ...fields };
      const expected: Record<string, unknown> = {
        ...before,
        ...Object.fromEntries(
          Object.entries(fields).map(([field, value]) => [field, value ?? (field === "public" ? false : "")]),
        ),
      };
      if (links !== undefined) {
        body.links = links?.map(([url, isObject]) => (isObject ? { url, domain: "example.com" } : url)) ?? null;
        expected.links = (links ?? []).map(([url]) => ({ url, domain: "example.com" }));
      }
      for (const [kind, { added = [], ...list }] of Object.entries(lists)) {
        const {
          removed,
          modified,
          changes = {},
        } = list as { removed?: number[]; modified?: number[]; changes?: Fields };
        const elements: readonly Element[] = before[kind];
        const drop = elementsAt(elements, removed ?? []);
        const change = elementsAt(elements, modified ?? []).map((id) => ({ id, ...changes }));
        if (removed) body[`removed_${kind}`] = drop;
        if (modified) body[`modified_${kind}`] = change;
        if (added.length > 0) body[`added_${kind}`] = added;
        expected[kind] = edited(elements, drop, change, added);
      }

      await patch("admin-contributors/edit", contributor.id, body);

      const now = await detail(contributor);
      for (const kind of Object.keys(lists)) now[kind] = split(now[kind], before[kind]);
      expect(now).toEqual(expected);
    }),
    { numRuns: patches },
  );
  expect(await Promise.all(friends.map(detail))).toEqual(others);
});

it("A merge patch changes nothing of a user that it does not name", async () => {
  const user = await aUser(stack.sql);
  const roles = [await aRole(stack.sql), await aRole(stack.sql), await aRole(stack.sql)].map(({ id }) => id);
  const detail = async () => {
    const request = { as: administrator.token, path: { id: user.id }, query: { lock: "none" } };
    const { body } = await stack.call("admin-users/id", request);
    return { ...body, roles: body.roles.map(({ id }: Element) => id) };
  };
  // A user without any role gets the default role, so one is kept.
  const [always = 0, ...chosen] = roles;
  await patch("admin-users/edit", user.id, { added_roles: [always] });
  const listed = fc.subarray(chosen);
  const choice = some({ username: name, age_verified: flag, added_roles: listed, removed_roles: listed });

  await fc.assert(
    fc.asyncProperty(choice, async (body) => {
      const before = await detail();
      const { added_roles = [], removed_roles = [], ...fields } = body;

      await patch("admin-users/edit", user.id, body);

      const held = roles.filter((id) => before.roles.includes(id) || added_roles.includes(id));
      expect(await detail()).toEqual({
        ...before,
        ...fields,
        ...(fields.age_verified === null ? { age_verified: false } : {}),
        roles: held.filter((id) => !removed_roles.includes(id)),
      });
    }),
    { numRuns: patches },
  );
});
