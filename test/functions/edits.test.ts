import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { untilBlocked } from "../support/blocked.ts";
import { useAdministrator, useHolder } from "../support/callers.ts";
import { aContributor, aWholeContributor } from "../support/catalogue.ts";
import { identifier, row } from "../support/database.ts";
import { envelope, invalidParameter, missingParameters } from "../support/envelope.ts";
import { anAdministrator, aUser, holderOf } from "../support/people.ts";
import { aRole } from "../support/records.ts";
import { bodyOf, makers, type Table } from "../support/requests.ts";
import { rounds } from "../support/rounds.ts";
import { useStack } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";

/*
 * Versions, merge patches and edit locks (lib/contract/README.md, "Caching" and "Beyond the interface"). What all
 * changes do alike is in every-endpoint/changes.ts, and what they refuse in every-endpoint/bad-input.ts.
 */

const stack = useStack();
const administrator = useAdministrator(stack);

const edit = (table: Table, id: number, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  administrator.call(`admin-${table}/edit`, { path: { id }, body, headers });
const patch = (table: Table, id: number, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  edit(table, id, body, { "Content-Type": "application/merge-patch+json", ...headers });
const detailOf = (table: Table, id: number, query = {}) =>
  administrator.call(`admin-${table}/id`, { path: { id }, query });
const versionOf = async (table: Table, id: number) => (await detailOf(table, id)).headers.get("ETag") ?? "";

it.each(["users", "roles", "permissions", "contributors"] as const)(
  "Of twenty edits of %s with the same version one is done",
  async (table) => {
    for (let round = 0; round < rounds; round++) {
      const { id } = await makers[table](stack.sql);
      const headers = { "If-Match": await versionOf(table, id) };

      const replies = await Promise.all(Array.from({ length: 20 }, () => edit(table, id, bodyOf(), headers)));

      expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(412)]);
    }
  },
);

it.each([
  { what: "any version", headerOf: () => "*" },
  { what: "one of several", headerOf: (seen: string) => `"0", ${seen} ,"x"` },
  { what: "one that nginx has made weak", headerOf: (seen: string) => `W/${seen}` },
  {
    what: "one of a response that Apache has compressed",
    headerOf: (seen: string) => seen.replace(/"$/, '-gzip"'),
  },
  { what: "a weak one of a compressed response", headerOf: (seen: string) => `W/${seen.replace(/"$/, '-br"')}` },
])("If-Match returns 200 with $what", async ({ headerOf }) => {
  const { id } = await aRole(stack.sql);
  const headers = { "If-Match": headerOf(await versionOf("roles", id)) };

  const { body } = await edit("roles", id, bodyOf(), headers);

  expect(body).toEqual(envelope(200, "Role updated"));
});

it.each([
  { what: "another version that nginx has made weak", headerOf: () => 'W/"7"' },
  { what: "one with an unknown ending", headerOf: (seen: string) => seen.replace(/"$/, '-x"') },
  { what: "one that this service never gave", headerOf: () => '"a1b2"' },
  { what: "none", headerOf: () => '""' },
])("If-Match returns 412 and changes nothing with $what", async ({ headerOf }) => {
  const { id } = await aRole(stack.sql);
  const headers = { "If-Match": headerOf(await versionOf("roles", id)) };

  const { body } = await unchanged(stack, () => edit("roles", id, bodyOf(), headers));

  expect(body).toEqual(envelope(412, "Precondition failed"));
});

it.each(["1", "latest", '"1', '"1" "2"', '"1",', "W/1"])(
  "If-Match returns 400 and changes nothing with %s",
  async (header) => {
    const { id } = await aRole(stack.sql);

    const { body } = await unchanged(stack, () => edit("roles", id, bodyOf(), { "If-Match": header }));

    expect(body).toEqual(invalidParameter("If-Match"));
  },
);

describe("A merge patch of a contributor", () => {
  it("returns 409 where what it leaves out makes the name another's, and changes nothing", async () => {
    const [one, other] = [await aWholeContributor(stack.sql), await aWholeContributor(stack.sql)];
    await stack.sql`
      update contributors set last_name = 'Else', first_name = (select first_name from contributors where id = ${other.id})
      where id = ${one.id}
    `;

    const { body } = await unchanged(stack, () => patch("contributors", one.id, { last_name: "OLD" }));

    expect(body).toEqual(envelope(409, "Contributor with this Name exists already."));
  });

  it("keeps what another one changes while it waits for the record", async () => {
    const { id } = await aWholeContributor(stack.sql);

    const { patched } = await stack.sql.begin(async (sql) => {
      await sql`update contributors set last_name = 'Urasawa', type = 'artist' where id = ${id}`;
      const patched = patch("contributors", id, { gender: "female" });
      await untilBlocked(stack.sql);
      return { patched };
    });

    expect((await patched).status).toBe(200);
    const [row] = await stack.sql`select last_name, type, gender, public from contributors where id = ${id}`;
    expect(row).toEqual({ last_name: "Urasawa", type: "artist", gender: "female", public: true });
  });
});

describe.each([
  { table: "contributors", required: "first_name" },
  { table: "users", required: "username" },
] as const)("A merge patch of $table", ({ table, required }) => {
  it("that names no field returns 404 where there is no record", async () => {
    expect((await patch(table, 987_654_321, {})).status).toBe(404);
  });

  it.each([
    { what: "is empty", body: {} },
    { what: "names only fields that no edit has", body: { unknown: 1, id: 1, slug: "x", version: 7 } },
  ])("that $what returns 200 and changes nothing", async ({ body }) => {
    const { id } = await makers[table](stack.sql);

    expect((await unchanged(stack, () => patch(table, id, body))).status).toBe(200);
  });

  it.each(["Application/Merge-Patch+JSON", "application/merge-patch+json ; charset=utf-8"])(
    "is one by its content type, %s",
    async (type) => {
      const { id } = await makers[table](stack.sql);

      expect((await patch(table, id, {}, { "Content-Type": type })).status).toBe(200);
    },
  );

  it.each(["application/json", "text/plain; x=application/merge-patch+json"])(
    "is a plain edit by another content type, %s",
    async (type) => {
      const { id } = await makers[table](stack.sql);

      expect((await patch(table, id, {}, { "Content-Type": type })).body).toEqual(missingParameters);
    },
  );

  it("returns 412 and changes nothing with another version", async () => {
    const { id } = await makers[table](stack.sql);
    const body = { [required]: crypto.randomUUID() };

    expect((await unchanged(stack, () => patch(table, id, body, { "If-Match": '"7"' }))).status).toBe(412);
  });

  it("is done once under a key", async () => {
    const { id } = await makers[table](stack.sql);
    const [body, before] = [{ [required]: crypto.randomUUID() }, await versionOf(table, id)];
    const headers = { "Idempotency-Key": crypto.randomUUID(), "If-Match": before };

    for (const _ of ["first", "again"]) expect((await patch(table, id, body, headers)).status).toBe(200);

    expect(await versionOf(table, id)).toBe(`"${Number(before.slice(1, -1)) + 1}"`);
    const rows = await stack.sql`
      select after from changes join changed_rows on change_id = changes.id
      where endpoint = ${`admin-${table}/edit`} and owner = ${id}
    `;
    expect(rows).toEqual([{ after: body }]);
  });

  it("is another request than the plain edit with its key and body, which returns 400", async () => {
    const { id } = await makers[table](stack.sql);
    const body = { [required]: crypto.randomUUID() };
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    await patch(table, id, body, headers);

    const { body: answer } = await unchanged(stack, () => edit(table, id, body, headers));

    expect(answer).toEqual(invalidParameter("Idempotency-Key"));
  });
});

it("Endpoints without merge patches read the type as application/json", async () => {
  const role = await aRole(stack.sql);

  expect((await patch("roles", role.id, { name: role.name })).status).toBe(200);
  expect((await patch("roles", role.id, {})).body).toEqual(missingParameters);
});

describe("Random merge patches, one after the other,", () => {
  const patches = 3 * Number(process.env.COLOPHON_FUZZ_RUNS ?? 30);
  const word = fc.string({ unit: fc.constantFrom("a", "É", "ß", " ", "漫", "'", '"', "\\", "1"), maxLength: 8 });
  const name = word.map((text) => `a${text}z`);
  /** Never the name, which is no alias. */
  const alias = word.map((text) => `b${text}z`);
  /** Text that may be empty, and null, which is the same. */
  const emptiable = fc.oneof(name, fc.constantFrom(null, ""));
  const flag = fc.constantFrom(true, false, null);
  /** Few, so that no list grows to its limit. */
  const few = <Value>(value: fc.Arbitrary<Value>) => fc.array(value, { maxLength: 1 });
  const language = fc.constantFrom("English", "German", "Japanese");

  /** A record, others, and what the record's patches may name. */
  const kinds = {
    contributors: async () => {
      const { id } = await aContributor(stack.sql, { last_name: "Old", gender: "male", type: "author and artist" });
      const others = [(await aContributor(stack.sql)).id, (await aContributor(stack.sql)).id];
      const fields = {
        first_name: name,
        last_name: emptiable,
        gender: emptiable,
        type: emptiable,
        disambiguation: emptiable,
        public: flag,
        links: fc.option(fc.subarray(["https://a.example/x", "https://b.example/y?c=d"])),
        added_aliases: few(alias),
        added_descriptions: few(fc.record({ description: name, language, source: fc.uuid() })),
        added_relations: few(fc.record({ relation_id: fc.constantFrom(...others), relation_type: name })),
      };
      return { id, others, fields, query: { include: "type,public,disambiguation" } };
    },
    users: async () => {
      const [{ id }, other] = [await aUser(stack.sql), await aUser(stack.sql)];
      const roles = [(await aRole(stack.sql)).id, (await aRole(stack.sql)).id];
      const fields = { username: name, age_verified: flag, added_roles: fc.subarray(roles) };
      return { id, others: [other.id], fields, query: {} };
    },
  };

  it.each(["contributors", "users"] as const)("change nothing of %s that they do not name", async (table) => {
    const { id, others, fields, query } = await kinds[table]();
    const detail = async (of = id) => (await detailOf(table, of, { ...query, lock: "none" })).body;
    const formerOthers = await Promise.all(others.map(detail));

    const changes: fc.Arbitrary<Record<string, unknown>> = fc.record(fields as Record<string, fc.Arbitrary<unknown>>, {
      requiredKeys: [],
    });
    await fc.assert(
      fc.asyncProperty(changes, async (body) => {
        const before = await detail();

        expect([body, (await patch(table, id, body)).status]).toEqual([body, 200]);

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
  });
});

describe.each([
  { resource: "users", noun: "User", name: "username", shown: "lock", title: "DELETE /admin-users/lock/{id}" },
  {
    resource: "contributors",
    noun: "Contributor",
    name: "first_name",
    shown: "locked_by",
    title: "DELETE /admin-contributors/lock/{id}",
  },
] as const)("Edit locks of $resource", ({ resource, noun, name, shown, title }) => {
  const editor = useHolder(stack, `view-${resource}`, `edit-${resource}`);
  const other = useHolder(stack, `view-${resource}`, `edit-${resource}`);
  const viewer = useHolder(stack, `view-${resource}`);
  const people = { editor, other };
  const [locks, owner] = [`${noun}_locks`.toLowerCase(), `${noun}_id`.toLowerCase()];
  const make = () => makers[resource](stack.sql);
  let id: number;

  const open = (as: string, query: Readonly<Record<string, string>> = {}, target = id) =>
    stack.call(`admin-${resource}/id`, { as, path: { id: target }, query });
  const release = (as: string) => stack.call(`admin-${resource}/lock`, { as, path: { id } });
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
    id = (await make()).id;
  });

  const locked = [
    { what: "no lock", holder: undefined, minutes: 0, after: { holder: "editor", minutes: 15 } },
    { what: "another person's lock", holder: "other", minutes: 5, after: { holder: "other", minutes: 5 } },
    { what: "the caller's own lock", holder: "editor", minutes: 1, after: { holder: "editor", minutes: 15 } },
    { what: "a lock that has expired", holder: "other", minutes: -1, after: { holder: "editor", minutes: 15 } },
  ] as const;

  it.each(locked)("are taken by opening a record with $what, unless another person has one", async (row) => {
    if (row.holder) await lock(people[row.holder], row.minutes);

    await open(editor.token);

    expect(await lockOf()).toEqual([people[row.after.holder].id, row.after.minutes]);
  });

  it.each(locked)("are neither taken nor renewed by lock=none with $what", async ({ holder, minutes }) => {
    if (holder) await lock(people[holder], minutes);

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
    { what: "a plain edit", type: "application/json", isNamed: true },
    { what: "a merge patch that names nothing", type: "application/merge-patch+json", isNamed: false },
  ])("are released by $what of their holder alone", async ({ type, isNamed }) => {
    const body = isNamed ? { [name]: `Edited ${id}` } : {};
    const edit = (as: string) =>
      stack.call(`admin-${resource}/edit`, { as, path: { id }, body, headers: { "Content-Type": type } });
    await lock(other, 5);

    expect((await edit(editor.token)).status).toBe(200);
    expect(await lockOf()).toEqual([other.id, 5]);
    expect((await edit(other.token)).status).toBe(200);
    expect(await lockOf()).toBeUndefined();
  });

  it("are released when their holder is logged out", async () => {
    const leaving = await holderOf(stack.sql, `view-${resource}`, `edit-${resource}`);
    const another = await make();
    await open(other.token);
    await open(leaving.token, {}, another.id);

    await administrator.call("admin-users/logout", { path: { id: leaving.id } });

    expect([await lockOf(), await lockOf(another.id)]).toEqual([[other.id, 15], undefined]);
  });

  it("are taken by one of many who open a record at once", async () => {
    const anEditor = () => holderOf(stack.sql, `view-${resource}`, `edit-${resource}`);
    const editors = await Promise.all(Array.from({ length: 10 }, anEditor));

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

    expect((await reply).body).toEqual(envelope(404, `${noun} not found`));
  });

  it(`are released by their holder alone, on this record alone: ${title} returns 200, also when there is none`, async () => {
    const another = (await make()).id;
    for (const each of [id, another]) await open(editor.token, {}, each);
    const released = envelope(200, "Lock released");
    const recorded = await stack.sql`select id from changes`;

    expect((await unchanged(stack, () => release(viewer.token))).body).toEqual(released);
    for (const _ of ["first", "again"]) expect((await release(editor.token)).body).toEqual(released);

    expect([await lockOf(), await lockOf(another)]).toEqual([undefined, [editor.id, 15]]);
    expect(await stack.sql`select id from changes`).toEqual(recorded);
  });
});

it("Edit locks of users who outrank the caller are not taken", async () => {
  const [{ id }, { token }] = [await anAdministrator(stack.sql), await holderOf(stack.sql, "view-users", "edit-users")];
  const open = () => stack.call("admin-users/id", { as: token, path: { id } });

  expect((await unchanged(stack, open)).status).toBe(200);
});
