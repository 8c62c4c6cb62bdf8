import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Declaration, endpointPath, queryOf } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { permissions } from "../../../lib/contract/permissions.ts";
import { anAdministrator } from "../../support/people.ts";
import type { Request, Stack } from "../../support/stack.ts";

export function testArbitrary(stack: Stack): void {
  const runs = Number(process.env.COLOPHON_FUZZ_RUNS ?? 15);

  /** What attackers try, beside anything at all. */
  const nasty = fc.constantFrom(
    ..."|0|-1|1e30|9007199254740991|9007199254740993|NaN|1 OR 1=1|'; drop table users; --|\"|\\|%|_|\0|\ud800".split(
      "|",
    ),
    ..."\u202e|a\u0301|😀|name-asc; select 1|:1|$1|$$|../../etc/passwd|<script>alert(1)</script>".split("|"),
    "x".repeat(1_000),
  );
  const word = fc.oneof(
    nasty,
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.nat(300).map(String),
    fc.constantFrom("name-asc", "German", "kodansha"),
  );
  const fields = fc.constantFrom("id", "name", "description", "language", "relation_id", "relation_type", "__proto__");
  const value: fc.Arbitrary<unknown> = fc.oneof(
    { weight: 3, arbitrary: word },
    fc.jsonValue({ maxDepth: 3 }),
    fc.array(fc.oneof(word, fc.nat(), fc.dictionary(fields, word)), { maxLength: 4 }),
  );
  const segment = word.filter((each) => !/^\.{0,2}$/.test(each) && each.isWellFormed());
  const wellFormed = word.map((each) => each.toWellFormed());

  const some = <Value>(names: readonly string[], values: fc.Arbitrary<Value>) =>
    fc.record(Object.fromEntries(names.map((name) => [name, values])), { requiredKeys: [] });

  const requestTo = ({ parameters, body, ...declaration }: Declaration): fc.Arbitrary<Request> =>
    fc.record({
      path: fc.record(Object.fromEntries(Object.keys(parameters ?? {}).map((name) => [name, segment]))),
      query: some([...Object.keys(queryOf(declaration)), "unknown"], wellFormed) as fc.Arbitrary<
        Record<string, string>
      >,
      ...(body
        ? {
            body: fc.oneof(
              { weight: 6, arbitrary: some([...Object.keys(body), "id", "slug", "constructor"], value) },
              fc.json(),
              word,
            ),
          }
        : {}),
    });

  const asked = endpoints.filter(({ needsSignIn }) => !needsSignIn);

  describe.each(asked.map((each) => [endpointPath(each), each] as const))("to %s", (name, declaration) => {
    it("get only declared responses, and never a 5xx", async () => {
      await fc.assert(
        fc.asyncProperty(requestTo(declaration), async (request) => {
          const { token } = await anAdministrator(stack.sql);

          const { status } = await stack.call(name, { as: token, ...request });

          // An image that cannot be processed, or is not there to be deleted, is a 500 of the interface.
          if (!declaration.needsFileService) expect(status).toBeLessThan(500);
          const own = await stack.sql`select from permissions where key is not null`;
          if (own.length < Object.keys(permissions).length) await stack.lambda.invoke("ops-migrate", {});
        }),
        { numRuns: runs },
      );
    });
  });
}
