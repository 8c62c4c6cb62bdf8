import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { envelope, forbidden, unauthorized } from "../../support/envelope.ts";
import { anAdministrator, aUser, holderOf, type Person } from "../../support/people.ts";
import { dataUrl, plain } from "../../support/pictures.ts";
import { unchanged, whileDatabaseFails } from "../../support/unchanged.ts";
import { imageOf, pairOf, startUploads, type UploadStack } from "../../support/uploads.ts";

let stack: UploadStack;
let editor: Person;
let administrator: Person;
let user: Person;
let key: string | null;

beforeAll(async () => {
  stack = await startUploads();
  editor = await holderOf(stack.sql, "edit-users");
  administrator = await anAdministrator(stack.sql);
});

beforeEach(async () => {
  user = await aUser(stack.sql);
  key = await giveImage(user);
  stack.dataApi.calls.length = 0;
  stack.s3.requests.length = 0;
});

afterAll(() => stack.close());

async function giveImage(person: Person): Promise<string | null> {
  const image = dataUrl(await plain().webp().toBuffer());
  await stack.call("admin-users/update-image", { as: administrator.token, path: { id: person.id }, body: { image } });
  return await imageOf(stack, "users", person);
}

const remove = ({ as = editor.token, id = user.id as number | string } = {}) =>
  stack.call("admin-users/delete-image", { as, path: { id } });

async function untouched(call: () => ReturnType<typeof remove>) {
  const reply = await unchanged(stack, call);
  expect(await stack.keys()).toEqual(expect.arrayContaining(pairOf(key)));
  return reply;
}

const failed = envelope(500, "Internal server error");
const missing = envelope(404, "User not found");

describe("DELETE /admin-users/delete-image/{id}", () => {
  it("answers 200 with one statement, and removes both sizes and the reference", async () => {
    const { body } = await remove();

    expect(body).toEqual(envelope(200, "Profile image deleted"));
    expect(stack.dataApi.calls).toHaveLength(1);
    expect(stack.s3.requests).toHaveLength(1);
    expect(await imageOf(stack, "users", user)).toBeNull();
    for (const each of pairOf(key)) expect(await stack.keys()).not.toContain(each);
  });

  it("answers 401 without a session, and the image stays", async () => {
    expect((await untouched(() => remove({ as: "junk" }))).body).toEqual(unauthorized);
  });

  it("answers 403 without edit-users, and the image stays", async () => {
    const other = await holderOf(stack.sql, "view-users", "delete-users");

    expect((await untouched(() => remove({ as: other.token }))).body).toEqual(forbidden);
  });

  it("answers 403 for a user who holds all permissions of the caller and more, and the image stays", async () => {
    key = await giveImage(administrator);

    expect((await untouched(() => remove({ id: administrator.id }))).body).toEqual(forbidden);
  });

  it("answers 404 for a user who is not there, and for a caller who has been deleted", async () => {
    const gone = await holderOf(stack.sql, "edit-users");
    await stack.sql`delete from users where id = ${gone.id}`;

    for (const id of [987_654, "administrator", gone.id]) {
      expect((await untouched(() => remove({ id }))).body).toEqual(missing);
    }
    expect((await untouched(() => remove({ as: gone.token }))).body).toEqual(missing);
  });

  it("answers 500 for a user without an image", async () => {
    const { id } = await aUser(stack.sql);

    expect((await untouched(() => remove({ id }))).body).toEqual(failed);
  });

  it("answers 500 and changes nothing when the database fails", async () => {
    expect((await untouched(() => whileDatabaseFails(stack, () => remove()))).body).toEqual(failed);
  });
});
