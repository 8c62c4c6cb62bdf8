import { beforeEach, describe, expect, it } from "vitest";
import { useHolder } from "./callers.ts";
import { aContributor } from "./catalogue.ts";
import { envelope } from "./envelope.ts";
import { aUser } from "./people.ts";
import { useStack } from "./stack.ts";
import { unchanged } from "./unchanged.ts";

const resources = {
  users: { noun: "User", add: aUser, locks: "select holder_id from user_locks where user_id = $1" },
  contributors: {
    noun: "Contributor",
    add: aContributor,
    locks: "select holder_id from contributor_locks where contributor_id = $1",
  },
} as const;

/** Tests the release of edit locks. */
export function testLocks(resource: keyof typeof resources): void {
  const { noun, add, locks } = resources[resource];
  const stack = useStack();
  const editor = useHolder(stack, `view-${resource}`, `edit-${resource}`);
  const viewer = useHolder(stack, `view-${resource}`);
  const released = envelope(200, "Lock released");
  let id: number;
  const open = (target = id) => stack.call(`admin-${resource}/id`, { as: editor.token, path: { id: target } });
  const release = (as: string, target = id, headers = {}) =>
    stack.call(`admin-${resource}/lock`, { as, path: { id: target }, headers });
  const holders = async (target = id) =>
    (await stack.sql.query(locks, [target])).map(({ holder_id }) => Number(holder_id));

  beforeEach(async () => {
    id = (await add(stack.sql)).id;
    await open();
  });

  describe(`DELETE /admin-${resource}/lock/{id}`, () => {
    it("answers 200 and releases the caller's own lock, on this record alone, also when there is none", async () => {
      const other = (await add(stack.sql)).id;
      await open(other);
      const changes = async () => (await stack.sql`select from changes`).length;
      const before = await changes();

      for (let count = 0; count < 2; count++) expect((await release(editor.token)).body).toEqual(released);

      expect([await holders(), await holders(other)]).toEqual([[], [editor.id]]);
      expect(await changes()).toBe(before);
    });

    it("answers 200 and leaves the lock to somebody else who has it", async () => {
      expect((await unchanged(stack, () => release(viewer.token))).body).toEqual(released);
      expect(await holders()).toEqual([editor.id]);
    });

    it("answers 404 when the record does not exist, and 412 when it has another version", async () => {
      expect((await release(editor.token, 987_654_321)).body).toEqual(envelope(404, `${noun} not found`));
      const reply = await unchanged(stack, () => release(editor.token, id, { "If-Match": '"7"' }));
      expect(reply.body).toEqual(envelope(412, "Precondition failed"));
    });
  });
}
