import { describe, expect, it } from "vitest";
import { untilBlocked } from "../support/blocked.ts";
import { useAdministrator } from "../support/callers.ts";
import { aWholeContributor } from "../support/catalogue.ts";
import { identifier } from "../support/database.ts";
import { envelope, missingParameters } from "../support/envelope.ts";
import { aUser } from "../support/people.ts";
import { aRole } from "../support/records.ts";
import { useStack } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";

/*
 * Edits by merge patch (lib/contract/README.md, "Beyond the interface"). What they change is in untouched-fields.test.ts, and
 * what they refuse in every-endpoint/bad-input.ts.
 */

const stack = useStack();
const administrator = useAdministrator(stack);

const patch = (name: string, id: number, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  stack.call(name, {
    as: administrator.token,
    path: { id },
    body,
    headers: { "Content-Type": "application/merge-patch+json", ...headers },
  });
const unique = () => `renamed ${crypto.randomUUID()}`;

describe("A merge patch of a contributor", () => {
  const edit = ({ id }: { id: number }, body: object) => patch("admin-contributors/edit", id, body);

  it("returns 409 where what it leaves out makes the name another's, and changes nothing", async () => {
    const [one, other] = [await aWholeContributor(stack.sql), await aWholeContributor(stack.sql)];
    await stack.sql`
      update contributors set last_name = 'Else', first_name = (select first_name from contributors where id = ${other.id})
      where id = ${one.id}
    `;

    const { body } = await unchanged(stack, () => edit(one, { last_name: "OLD" }));

    expect(body).toEqual(envelope(409, "Contributor with this Name exists already."));
  });

  it("keeps what another one changes while it waits for the record", async () => {
    const { id } = await aWholeContributor(stack.sql);

    const { patched } = await stack.sql.begin(async (sql) => {
      await sql`update contributors set last_name = 'Urasawa', type = 'artist' where id = ${id}`;
      const patched = edit({ id }, { gender: "female" });
      await untilBlocked(stack.sql);
      return { patched };
    });

    expect((await patched).status).toBe(200);
    const [row] = await stack.sql`select last_name, type, gender, public from contributors where id = ${id}`;
    expect(row).toEqual({ last_name: "Urasawa", type: "artist", gender: "female", public: true });
  });
});

describe.each([
  ["contributors", "first_name", aWholeContributor],
  ["users", "username", aUser],
] as const)("A merge patch of %s", (table, required, make) => {
  const name = `admin-${table}/edit`;
  const rowOf = async ({ id }: { id: number }) =>
    (await stack.sql`select to_jsonb(each) as row from ${identifier(table)} as each where id = ${id}`)[0]?.row;

  it("returns 404 to nobody, and 413 to more than a body may have", async () => {
    expect((await patch(name, 987_654_321, {})).status).toBe(404);
    expect((await patch(name, 987_654_321, { [required]: "x".repeat(1_048_576) })).status).toBe(413);
  });

  it("that names no field changes nothing", async () => {
    const record = await make(stack.sql);

    for (const body of [{}, { unknown: 1, id: 1, slug: "x", version: 7 }])
      expect((await unchanged(stack, () => patch(name, record.id, body))).status).toBe(200);
  });

  it("is known by its content type, whatever its case and parameters; one that is no patch is a plain edit", async () => {
    const { id } = await make(stack.sql);

    for (const each of ["Application/Merge-Patch+JSON", "application/merge-patch+json ; charset=utf-8"])
      expect([each, (await patch(name, id, {}, { "Content-Type": each })).status]).toEqual([each, 200]);
    for (const each of ["application/json", "text/plain; x=application/merge-patch+json"])
      expect([each, (await patch(name, id, {}, { "Content-Type": each })).body]).toEqual([each, missingParameters]);
  });

  it("returns 412 where the record has another version, is done once under a key, and is in the history", async () => {
    const record = await make(stack.sql);
    const former = await rowOf(record);
    const body = { [required]: unique() };
    const headers = { "Idempotency-Key": crypto.randomUUID(), "If-Match": `"${former.version}"` };

    expect((await unchanged(stack, () => patch(name, record.id, body, { "If-Match": '"7"' }))).status).toBe(412);
    for (const _ of ["first", "again"]) expect((await patch(name, record.id, body, headers)).status).toBe(200);
    expect(await rowOf(record)).toMatchObject({ ...body, version: former.version + 1 });
    expect((await patch(name, record.id, body, { ...headers, "Content-Type": "application/json" })).status).toBe(400);
    const rows = await stack.sql`
      select before, after
      from changes join changed_rows on change_id = changes.id
      where endpoint = ${name} and owner = ${record.id}
    `;
    expect(rows).toEqual([{ before: { [required]: former[required] }, after: body }]);
  });
});

it("Endpoints without merge patches read the type as application/json", async () => {
  const role = await aRole(stack.sql);

  expect((await patch("admin-roles/edit", role.id, { name: role.name })).status).toBe(200);
  expect((await patch("admin-roles/edit", role.id, {})).body).toEqual(missingParameters);
  expect((await patch("admin-roles/add", 0, { name: unique(), description: "d" })).status).toBe(200);
});
