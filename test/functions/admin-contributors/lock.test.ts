import { beforeEach, describe, expect, it } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { aContributor } from "../../support/catalogue.ts";
import { envelope } from "../../support/envelope.ts";
import { useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const stack = useStack();
const editor = useHolder(stack, "view-contributors", "edit-contributors");
const viewer = useHolder(stack, "view-contributors");

const released = envelope(200, "Lock released");
let id: number;

const open = () => stack.call("admin-contributors/id", { as: editor.token, path: { id } });
const release = (as: string, target = id) => stack.call("admin-contributors/lock", { as, path: { id: target } });
const holders = async () =>
  (await stack.sql`select holder_id from contributor_locks where contributor_id = ${id}`).map(
    ({ holder_id }) => holder_id,
  );

beforeEach(async () => {
  id = (await aContributor(stack.sql)).id;
});

describe("DELETE /admin-contributors/lock/{id}", () => {
  it("answers 200 and releases the caller's own lock, on this record alone", async () => {
    await open();
    const first = id;
    id = (await aContributor(stack.sql)).id;
    await open();

    const { body } = await release(editor.token, first);

    expect(body).toEqual(released);
    expect(await holders()).toEqual([editor.id]);
    id = first;
    expect(await holders()).toEqual([]);
  });

  it("answers 200 and records nothing, also when there is no lock", async () => {
    await open();
    const rows = async () => (await stack.sql`select from changes`).length;
    const before = await rows();

    const bodies = [(await release(editor.token)).body, (await release(editor.token)).body];

    expect(bodies).toEqual([released, released]);
    expect(await rows()).toBe(before);
  });

  it("answers 200 and leaves the lock to somebody else who has it", async () => {
    await open();

    const { body } = await unchanged(stack, () => release(viewer.token));

    expect(body).toEqual(released);
    expect(await holders()).toEqual([editor.id]);
  });

  it("answers 404 when the contributor does not exist", async () => {
    expect((await release(editor.token, 987_654_321)).body).toEqual(envelope(404, "Contributor not found"));
  });

  it("answers 412 and keeps the lock when the contributor has another version than the request says", async () => {
    await open();

    const reply = await unchanged(stack, () =>
      stack.call("admin-contributors/lock", { as: editor.token, path: { id }, headers: { "If-Match": '"7"' } }),
    );

    expect(reply.body).toEqual(envelope(412, "Precondition failed"));
  });
});
