import { describe, expect, it } from "vitest";
import type { Colophon, Opened } from "../../../lib/client/index.js";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor } from "../../support/catalogue.ts";
import { clientFor, recordingNetwork } from "../../support/client.ts";
import { aUser } from "../../support/people.ts";
import { plain } from "../../support/pictures.ts";
import { aRole } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";

/* Edits of the service. random-edits.test.ts compares what hundreds of them do, calls.test.ts has what they send. */

const stack = useStack({ uploads: true });
const administrator = useAdministrator(stack);
const colleague = useAdministrator(stack);

type Opening<Data> = Promise<{
  data?: Data;
  version?: string | undefined;
  error?: { data: string } | undefined;
}>;

async function opened<Data>(call: Opening<Data>): Promise<Opened<NonNullable<Data>>> {
  const { data, version, error } = await call;
  if (!data || version === undefined) throw new Error(error?.data);
  return { data, version };
}
const open = (colophon: Colophon, id: number) =>
  opened(colophon.GET("/admin-contributors/id/{id}", { path: { id }, query: { include: "type,public" } }));

interface Kind {
  readonly kind: string;
  readonly make: () => Promise<{ readonly id: number }>;
  readonly open: (colophon: Colophon, id: number) => Promise<Opened<object>>;
  // biome-ignore lint/suspicious/noExplicitAny: forms of every kind
  readonly edit: (colophon: Colophon) => (opened: any, form: any, options?: any) => Promise<any>;
  /** What two editors change. */
  readonly forms: readonly [mine: object, theirs: object];
}
const kinds: readonly Kind[] = [
  {
    kind: "user",
    make: () => aUser(stack.sql),
    open: (colophon, id) => opened(colophon.GET("/admin-users/id/{id}", { path: { id } })),
    edit: (colophon) => colophon.editUser,
    forms: [{ age_verified: true }, { username: `Renamed ${crypto.randomUUID()}` }],
  },
  {
    kind: "role",
    make: () => aRole(stack.sql, "view-users"),
    open: (colophon, id) => opened(colophon.GET("/admin-roles/id/{id}", { path: { id } })),
    edit: (colophon) => colophon.editRole,
    forms: [{ description: "Mine", permissions: [] }, { name: `Renamed ${crypto.randomUUID()}` }],
  },
];

it.each(kinds)("An edit of a $kind is a conflict after another one, and then made to it", async (kind) => {
  const [mine, theirs] = kind.forms;
  const [colophon, others] = [clientFor(stack, administrator), clientFor(stack, colleague)];
  const { id } = await kind.make();
  const before = await kind.open(colophon, id);
  expect(await kind.edit(others)(before, theirs)).toEqual({ status: "saved" });
  const form = { ...before.data, ...mine };

  const result = await kind.edit(colophon)(before, form);
  expect(result).toEqual({ status: "conflict", current: await kind.open(others, id) });
  expect(await kind.edit(colophon)(before, form, { onto: result.current })).toEqual({ status: "saved" });

  expect((await kind.open(colophon, id)).data).toMatchObject({ ...theirs, ...mine });
});

describe("An avatar that is uploaded while a form is open", () => {
  const aFile = async () => new Blob([new Uint8Array(await plain().png().toBuffer())], { type: "image/png" });

  it("leaves the form to be saved without a conflict, but hides none with another user", async () => {
    const colophon = clientFor(stack, administrator);
    const before = await open(colophon, (await aContributor(stack.sql)).id);

    const result = await colophon.updateAvatar(before, await aFile());
    if (result.status !== "saved") throw new Error(result.error.data);
    expect(result.opened).toEqual({
      data: { ...before.data, image: expect.stringMatching(/^https/) },
      version: expect.not.stringMatching(before.version),
    });
    expect(await colophon.editContributor(result.opened, { ...before.data, gender: "female" })).toEqual({
      status: "saved",
    });

    const late = await colophon.updateAvatar(before, await aFile());
    if (late.status !== "saved") throw new Error(late.error.data);
    expect(await colophon.editContributor(late.opened, { gender: "male" })).toMatchObject({ status: "conflict" });
  });

  it("is refused if it is no image, and too large a file is not sent", async () => {
    const { sent, fetch } = recordingNetwork();
    const colophon = clientFor(stack, administrator, { fetch });
    const before = await open(clientFor(stack, administrator), (await aContributor(stack.sql)).id);

    expect(await colophon.updateAvatar(before, new Blob(["no image"]))).toEqual({
      status: "refused",
      error: { code: 500, data: "An error occurred while updating the contributor avatar" },
    });
    await expect(colophon.updateAvatar(before, new Blob([new Uint8Array(4_600_000)]))).rejects.toThrow(RangeError);
    expect(sent).toHaveLength(1);
  });
});
