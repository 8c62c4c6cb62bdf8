import fc from "fast-check";
import { expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { aUser } from "../support/people.ts";
import { aRole } from "../support/records.ts";
import { useStack } from "../support/stack.ts";

/* Random merge patches, one after the other: what a patch does not name must stay as it was. */

const patches = 3 * Number(process.env.COLOPHON_FUZZ_RUNS ?? 30);
const stack = useStack();
const administrator = useAdministrator(stack);

const word = fc.string({ unit: fc.constantFrom("a", "É", "ß", " ", "漫", "'", '"', "\\", "1"), maxLength: 8 });
const name = word.map((text) => `a${text}z`);
/** Text that may be empty, and null, which is the same. */
const emptiable = fc.oneof(name, fc.constantFrom(null, ""));
const flag = fc.constantFrom(true, false, null);
/** Few, so that no list grows to its limit. */
const few = <Value>(value: fc.Arbitrary<Value>) => fc.array(value, { maxLength: 1 });
const language = fc.constantFrom("English", "German", "Japanese");

/** A record, and what its patches may name. */
const kinds = {
  contributors: async () => {
    const { id } = await aContributor(stack.sql, { last_name: "Old", gender: "male", type: "author and artist" });
    const friends = [await aContributor(stack.sql), await aContributor(stack.sql)];
    const relation_id = fc.constantFrom(...friends.map((friend) => friend.id));
    const fields = {
      first_name: name,
      last_name: emptiable,
      gender: emptiable,
      type: emptiable,
      public: flag,
      links: fc.option(fc.subarray(["https://a.example/x", "https://b.example/y?c=d"])),
      added_aliases: few(name),
      added_descriptions: few(fc.record({ description: name, language, source: word })),
      added_relations: few(fc.record({ relation_id, relation_type: name })),
    };
    return { id, others: friends.map((friend) => friend.id), fields };
  },
  users: async () => {
    const [{ id }, other] = [await aUser(stack.sql), await aUser(stack.sql)];
    const roles = [await aRole(stack.sql), await aRole(stack.sql)].map((role) => role.id);
    const fields = { username: name, age_verified: flag, added_roles: fc.subarray(roles) };
    return { id, others: [other.id], fields };
  },
};

it.each(["contributors", "users"] as const)(
  "A merge patch of %s changes nothing that it does not name",
  async (kind) => {
    const { id, others, fields } = await kinds[kind]();
    const call = async (action: string, of: number, request: object) => {
      const response = await stack.call(`admin-${kind}/${action}`, {
        as: administrator.token,
        path: { id: of },
        ...request,
      });
      expect([request, response.status]).toEqual([request, 200]);
      return response.body;
    };
    const include = kind === "contributors" ? { include: "type,public" } : {};
    const detail = (of = id) => call("id", of, { query: { ...include, lock: "none" } });
    const formerOthers = await Promise.all(others.map(detail));

    const changes: fc.Arbitrary<Record<string, unknown>> = fc.record(fields as Record<string, fc.Arbitrary<unknown>>, {
      requiredKeys: [],
    });
    await fc.assert(
      fc.asyncProperty(changes, async (body) => {
        const before = await detail();

        await call("edit", id, { body, headers: { "Content-Type": "application/merge-patch+json" } });

        const named = Object.entries(body).map(([field, value]) => {
          const list = field.replace(/^added_/, "");
          // Names of related contributors and of links are made by the service.
          if (list !== field) return [list, expect.arrayContaining(before[list])];
          if (field === "links")
            return [field, (value as string[] | null)?.map((url) => expect.objectContaining({ url })) ?? []];
          return [field, value ?? (typeof before[field] === "boolean" ? false : "")];
        });
        expect(await detail()).toEqual({ ...before, ...Object.fromEntries(named) });
      }),
      { numRuns: patches },
    );
    expect(await Promise.all(others.map(detail))).toEqual(formerOthers);
  },
);
