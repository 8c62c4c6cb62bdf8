import { beforeEach, describe, expect, it } from "vitest";
import { untilBlocked } from "../support/blocked.ts";
import { useHolder } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { identifier, row } from "../support/database.ts";
import { envelope } from "../support/envelope.ts";
import { anAdministrator, aUser, holderOf } from "../support/people.ts";
import { useStack } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";

/* Who edits a record (lib/contract/README.md, "Beyond the interface"). */

const stack = useStack();

const resources = [
  {
    resource: "users",
    noun: "User",
    make: aUser,
    name: "username",
    shown: "lock",
    owner: "user_id",
    locks: "user_locks",
    title: "DELETE /admin-users/lock/{id}",
  },
  {
    resource: "contributors",
    noun: "Contributor",
    make: aContributor,
    name: "first_name",
    shown: "locked_by",
    owner: "contributor_id",
    locks: "contributor_locks",
    title: "DELETE /admin-contributors/lock/{id}",
  },
] as const;

describe.each(resources)("Edit locks of $resource", ({ resource, noun, make, name, shown, owner, locks, title }) => {
  const editor = useHolder(stack, `view-${resource}`, `edit-${resource}`);
  const other = useHolder(stack, `view-${resource}`, `edit-${resource}`);
  const viewer = useHolder(stack, `view-${resource}`);
  const people = { editor, other };
  const missing = envelope(404, `${noun} not found`);
  let id: number;

  const open = (as: string, query: Readonly<Record<string, string>> = {}, target = id) =>
    stack.call(`admin-${resource}/id`, { as, path: { id: target }, query });
  const release = (as: string, target = id, headers = {}) =>
    stack.call(`admin-${resource}/lock`, { as, path: { id: target }, headers });
  const lock = (by: { id: number }, minutes: number) => stack.sql`
    insert into ${identifier(locks)}
    ${row({ [owner]: id, editor_id: by.id, expires_at: new Date(Date.now() + minutes * 60_000) })}
  `;
  /** Who has the lock, and for how many minutes. */
  const lockOf = async (target = id) => {
    const [found] = await stack.sql`
      select editor_id, round(extract(epoch from expires_at - now()) / 60)::int as minutes
      from ${identifier(locks)}
      where ${identifier(owner)} = ${target}
    `;
    return found && [found.editor_id, found.minutes];
  };

  beforeEach(async () => {
    id = (await make(stack.sql)).id;
  });

  const locked = [
    ["no lock", undefined, 0, ["editor", 15]],
    ["another person's lock", "other", 5, ["other", 5]],
    ["the caller's own lock", "editor", 1, ["editor", 15]],
    ["a lock that has expired", "other", -1, ["editor", 15]],
  ] as const;

  it.each(locked)(
    "are taken for 15 minutes by opening a record with %s, unless another person has one",
    async (_, before, minutes, [after, left]) => {
      if (before) await lock(people[before], minutes);

      await open(editor.token);

      expect(await lockOf()).toEqual([people[after].id, left]);
    },
  );

  it.each(locked)("are neither taken nor renewed by lock=none with %s", async (_, before, minutes) => {
    if (before) await lock(people[before], minutes);

    const { status, body, headers } = await unchanged(stack, () => open(editor.token, { lock: "none" }));

    const opened = await open(editor.token);
    expect([status, body, headers.get("ETag")]).toEqual([200, opened.body, opened.headers.get("ETag")]);
  });

  it("are not taken by a caller who may not edit", async () => {
    expect((await unchanged(stack, () => open(viewer.token))).status).toBe(200);
  });

  it("are shown in lists to others, while they last", async () => {
    const lockShown = async (as: string) => {
      const { body } = await stack.call(`admin-${resource}/list`, { as, query: { client: 1 } });
      return body[resource].find((each: { id: number }) => each.id === id)[shown] ?? null;
    };

    await lock(other, -1);
    expect(await lockShown(viewer.token)).toBeNull();
    await open(other.token);
    expect(await lockShown(viewer.token)).toEqual({ id: other.id, username: other.username });
    expect(await lockShown(other.token)).toBeNull();
  });

  it.each([
    ["a plain edit", "application/json", true],
    ["a merge patch that names nothing", "application/merge-patch+json", false],
  ])("are released by %s of their holder alone", async (_, type, isNamed) => {
    const [{ row: found = {} } = {}] = await stack.sql`
      select to_jsonb(each) as row from ${identifier(resource)} as each where id = ${id}
    `;
    const edit = (as: string) =>
      stack.call(`admin-${resource}/edit`, {
        as,
        path: { id },
        body: isNamed ? { [name]: found[name] } : {},
        headers: { "Content-Type": type },
      });
    await lock(other, 5);

    expect((await edit(editor.token)).status).toBe(200);
    expect(await lockOf()).toEqual([other.id, 5]);
    expect((await edit(other.token)).status).toBe(200);
    expect(await lockOf()).toBeUndefined();
  });

  it("are released when their holder is logged out", async () => {
    const { token } = await anAdministrator(stack.sql);
    const leaving = await holderOf(stack.sql, `view-${resource}`, `edit-${resource}`);
    const another = await make(stack.sql);
    await open(other.token);
    await open(leaving.token, {}, another.id);

    await stack.call("admin-users/logout", { as: token, path: { id: leaving.id } });

    expect([await lockOf(), await lockOf(another.id)]).toEqual([[other.id, 15], undefined]);
  });

  it("are taken by one of many who open a record at once", async () => {
    const editors = await Promise.all(
      Array.from({ length: 10 }, () => holderOf(stack.sql, `view-${resource}`, `edit-${resource}`)),
    );

    const replies = await Promise.all(editors.map(({ token }) => open(token)));

    expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(editors.map((each) => [each.id, 15])).toContainEqual(await lockOf());
  });

  // It waits for 100 ms only; a busy machine may stand still for so long.
  it("are not taken on a record that is deleted just before: 404", { retry: 2 }, async () => {
    const { reply } = await stack.sql.begin(async (deletion) => {
      await deletion`delete from ${identifier(resource)} where id = ${id}`;
      const reply = open(editor.token);
      await untilBlocked(stack.sql);
      return { reply };
    });

    expect((await reply).body).toEqual(missing);
  });

  describe(title, () => {
    const released = envelope(200, "Lock released");
    beforeEach(() => open(editor.token));

    it("returns 200 and releases the caller's own lock, on this record alone, also when there is none", async () => {
      const another = (await make(stack.sql)).id;
      await open(editor.token, {}, another);
      const recorded = await stack.sql`select id from changes`;

      for (const _ of ["first", "again"]) expect((await release(editor.token)).body).toEqual(released);

      expect([await lockOf(), await lockOf(another)]).toEqual([undefined, [editor.id, 15]]);
      expect(await stack.sql`select id from changes`).toEqual(recorded);
    });

    it("returns 200 and leaves another person's lock", async () => {
      expect((await unchanged(stack, () => release(viewer.token))).body).toEqual(released);
    });

    it("returns 404 when the record does not exist, and 412 when it has another version", async () => {
      expect((await release(editor.token, 987_654_321)).body).toEqual(missing);
      const { body } = await unchanged(stack, () => release(editor.token, id, { "If-Match": '"7"' }));
      expect(body).toEqual(envelope(412, "Precondition failed"));
    });
  });
});

describe("Edit locks of users who outrank the caller", () => {
  const editor = useHolder(stack, "view-users", "edit-users");

  it("are not taken", async () => {
    const { id } = await anAdministrator(stack.sql);
    const open = () => stack.call("admin-users/id", { as: editor.token, path: { id } });

    expect((await unchanged(stack, open)).status).toBe(200);
  });
});
