import { describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { envelope, invalidParameter } from "../support/envelope.ts";
import { aUser } from "../support/people.ts";
import { tinyImage as image } from "../support/pictures.ts";
import { aPermission, aRole } from "../support/records.ts";
import { rounds } from "../support/rounds.ts";
import { type Request, useStack } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";

const stack = useStack({ uploads: true });
const administrator = useAdministrator(stack);

const call = (name: string, id: number, request: Partial<Request> = {}) =>
  stack.call(name, { as: administrator.token, path: { id }, ...request });
const ifMatch = (tag: string) => ({ headers: { "If-Match": tag } });

let number = 0;
const unique = () => `Version ${++number} ${crypto.randomUUID()}`;

const kinds: Readonly<Record<string, () => Promise<{ id: number }>>> = {
  "admin-users": () => aUser(stack.sql),
  "admin-roles": () => aRole(stack.sql),
  "admin-permissions": () => aPermission(stack.sql),
  "admin-contributors": () => aContributor(stack.sql),
};
const edit = (kind: string, id: number, more: Partial<Request> = {}) => {
  const name = unique();
  return call(`${kind}/edit`, id, { body: { username: name, first_name: name, name, description: "d" }, ...more });
};
const tagOf = async (kind: string, id: number) => (await call(`${kind}/id`, id)).headers.get("etag") ?? "";

const precondition = envelope(412, "Precondition failed");

describe.each(Object.entries(kinds))("%s", (kind, make) => {
  it("show their version as a strong ETag, which changes with every edit", async () => {
    const { id } = await make();
    const first = await tagOf(kind, id);
    expect(first).toMatch(/^"\d+"$/);
    expect(await tagOf(kind, id)).toBe(first);

    await edit(kind, id);

    expect(await tagOf(kind, id)).not.toBe(first);
  });

  it("are changed only with the latest version", async () => {
    const { id } = await make();
    const seen = await tagOf(kind, id);

    expect((await edit(kind, id, ifMatch(seen))).status).toBe(200);
    for (const action of ["edit", "delete"]) {
      const change = () =>
        action === "edit" ? edit(kind, id, ifMatch(seen)) : call(`${kind}/delete`, id, ifMatch(seen));
      expect((await unchanged(stack, change)).body).toEqual(precondition);
    }

    expect((await call(`${kind}/delete`, id, ifMatch(await tagOf(kind, id)))).status).toBe(200);
    expect((await call(`${kind}/delete`, id, ifMatch(seen))).status).toBe(404);
  });

  it("are changed by one of twenty requests with the same version", async () => {
    for (let round = 0; round < rounds; round++) {
      const { id } = await make();
      const seen = await tagOf(kind, id);

      const replies = await Promise.all(Array.from({ length: 20 }, () => edit(kind, id, ifMatch(seen))));

      const won = replies.filter(({ status }) => status === 200);
      expect([won.length, replies.filter(({ status }) => status === 412).length]).toEqual([1, 19]);
    }
  });
});

describe.each([
  ["admin-users", "update-image", "delete-image"],
  ["admin-contributors", "update-avatar", "delete-avatar"],
])("Images of %s", (kind, update, remove) => {
  it("belong to the version", async () => {
    const { id } = (await kinds[kind]?.()) ?? { id: 0 };
    const seen = await tagOf(kind, id);

    expect((await call(`${kind}/${update}`, id, { body: { image }, ...ifMatch(seen) })).status).toBe(200);
    expect((await unchanged(stack, () => call(`${kind}/${remove}`, id, ifMatch(seen)))).body).toEqual(precondition);
    const again = () => call(`${kind}/${update}`, id, { body: { image }, ...ifMatch(seen) });
    expect((await unchanged(stack, again)).body).toEqual(precondition);
    expect((await call(`${kind}/${remove}`, id, ifMatch(await tagOf(kind, id)))).status).toBe(200);
  });
});

it.each([
  ["any version", () => "*", 200],
  ["one of several", (seen: string) => `"0", ${seen} ,"x"`, 200],
  ["a weak one", (seen: string) => `W/${seen}`, 412],
  ["one that this service never gave", () => '"a1b2"', 412],
  ["none", () => '""', 412],
  ["one that is to come", (seen: string) => `"${Number(seen.slice(1, -1)) + 1}"`, 412],
  ...["1", "latest", '"1', '"1" "2"', '"1",', "W/1"].map((header) => [header, () => header, 400] as const),
] as const)("If-Match with %s", async (_, header, status) => {
  const { id } = await aRole(stack.sql);
  const request = ifMatch(header(await tagOf("admin-roles", id)));

  if (status === 200) expect((await edit("admin-roles", id, request)).status).toBe(200);
  else
    expect((await unchanged(stack, () => edit("admin-roles", id, request))).body).toEqual(
      status === 412 ? precondition : invalidParameter("If-Match"),
    );
});
