import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { envelope, forbidden, missingParameters, unauthorized } from "../../support/envelope.ts";
import { anAdministrator, aUser, holderOf, type Person } from "../../support/people.ts";
import { blackPng, dataUrl, pixelAt, plain, sizeOf } from "../../support/pictures.ts";
import { unchanged, whileDatabaseFails } from "../../support/unchanged.ts";
import { imageOf, notedKeys, pairOf, startUploads, type UploadStack } from "../../support/uploads.ts";

let stack: UploadStack;
let editor: Person;
let user: Person;
let picture: Buffer;

beforeAll(async () => {
  stack = await startUploads();
  editor = await holderOf(stack.sql, "edit-users");
  picture = await plain("#cc3311", 1200, 2400).jpeg().toBuffer();
});

beforeEach(async () => {
  user = await aUser(stack.sql);
  stack.dataApi.calls.length = 0;
  stack.s3.requests.length = 0;
});

afterAll(() => stack.close());

const update = (body: unknown, { as = editor.token, id = user.id as number | string } = {}) =>
  stack.call("admin-users/update-image", { as, path: { id }, body });

const done = envelope(200, "Profile image updated");
const failed = envelope(500, "Internal server error");
const missing = envelope(404, "User not found");

/** Makes a call and proves that neither bucket nor database have anything new. */
async function untouched(call: () => ReturnType<typeof update>) {
  const reply = await unchanged(stack, call);
  expect(stack.s3.requests).toEqual([]);
  return reply;
}

describe("POST /admin-users/update-image/{id}", () => {
  it("answers 200 and stores two sizes at the URL in lists and details", async () => {
    expect((await update({ image: picture.toString("base64") })).body).toEqual(done);

    const key = await imageOf(stack, "users", user);
    expect(key).toMatch(/^profiles\/[0-9a-f-]{36}\.webp$/);
    const [full, scaled] = await Promise.all(pairOf(key).map(stack.object));
    expect(await sizeOf(full?.bytes ?? picture)).toEqual([512, 1024]);
    expect(await sizeOf(scaled?.bytes ?? picture)).toEqual([128, 256]);
    expect((await pixelAt(scaled?.bytes ?? picture, 9, 9))[0]).toBeGreaterThan(190);
    const viewer = await holderOf(stack.sql, "view-users");
    const { body } = await stack.call("admin-users/id", { as: viewer.token, path: { id: user.id } });
    expect(body.profile_image).toBe(`https://images.example.com/${key}`);
  });

  it("answers 200 with two statements and three requests to S3, and leaves no object of the former image", async () => {
    await update({ image: dataUrl(picture) });
    const before = await imageOf(stack, "users", user);
    stack.dataApi.calls.length = 0;
    stack.s3.requests.length = 0;

    await update({ image: dataUrl(await plain("#0000ff").gif().toBuffer()) });

    expect(stack.dataApi.calls).toHaveLength(2);
    expect(stack.s3.requests).toHaveLength(3);
    const after = await imageOf(stack, "users", user);
    expect(await stack.keys()).toEqual(expect.arrayContaining(pairOf(after)));
    for (const key of pairOf(before)) expect(await stack.keys()).not.toContain(key);
    expect(await notedKeys(stack)).not.toContain(after);
  });

  it("answers 200 to users who give themselves an image", async () => {
    expect((await update({ image: dataUrl(picture) }, { id: editor.id })).body).toEqual(done);
  });

  it("answers 400 to an invalid image, without any statement", async () => {
    for (const body of [undefined, {}, { image: "" }, { image: null }, { image: "data:," }, { image: "file:///x" }]) {
      expect((await untouched(() => update(body))).body, JSON.stringify(body)).toEqual(missingParameters);
    }
    expect(stack.dataApi.calls).toEqual([]);
  });

  it("answers 401 without a session, and decodes nothing", async () => {
    expect((await untouched(() => update({ image: "junk" }, { as: "junk" }))).body).toEqual(unauthorized);
  });

  it("answers 403 without edit-users, and decodes nothing", async () => {
    const viewer = await holderOf(stack.sql, "view-users", "delete-users", "edit-contributors");

    for (const image of [dataUrl(picture), "junk"]) {
      expect((await untouched(() => update({ image }, { as: viewer.token }))).body).toEqual(forbidden);
    }
  });

  it("answers 403 for a user who holds all permissions of the caller and more", async () => {
    const administrator = await anAdministrator(stack.sql);

    expect((await untouched(() => update({ image: dataUrl(picture) }, { id: administrator.id }))).body).toEqual(
      forbidden,
    );
  });

  it("answers 403 when the user gets more permissions than the caller meanwhile, and leaves no object", async () => {
    await update({ image: dataUrl(picture) });
    const key = await imageOf(stack, "users", user);
    const before = await stack.keys();
    stack.s3.intercept(async () => {
      await stack.sql`
        insert into user_roles (user_id, role_id)
        select ${user.id}, id from roles where key = 'administrator'
        on conflict do nothing
      `;
      return undefined;
    });

    const { body } = await update({ image: dataUrl(picture) });
    stack.s3.intercept(undefined);

    expect(body).toEqual(forbidden);
    expect(await imageOf(stack, "users", user)).toBe(key);
    expect(await stack.keys()).toEqual(before);
  });

  it("answers 404 for a user who is not there, and for a caller who has been deleted", async () => {
    const gone = await holderOf(stack.sql, "edit-users");
    await stack.sql`delete from users where id = ${gone.id}`;

    for (const id of [987_654, "administrator", gone.id]) {
      expect((await untouched(() => update({ image: "junk" }, { id }))).body).toEqual(missing);
    }
    expect((await untouched(() => update({ image: "junk" }, { as: gone.token }))).body).toEqual(missing);
  });

  it("answers 404 when the user is deleted meanwhile, and leaves no object", async () => {
    const before = await stack.keys();
    stack.s3.intercept(async () => {
      await stack.sql`delete from users where id = ${user.id}`;
      return undefined;
    });

    const { body } = await update({ image: dataUrl(picture) });
    stack.s3.intercept(undefined);

    expect(body).toEqual(missing);
    expect(await stack.keys()).toEqual(before);
  });

  it("answers 500 to a file that is no image, and keeps the former one", async () => {
    await update({ image: dataUrl(picture) });
    const key = await imageOf(stack, "users", user);
    const svg = "<svg xmlns='http://www.w3.org/2000/svg'><image href='http://127.0.0.1/'/></svg>";

    for (const bytes of [Buffer.from(svg), Buffer.from("junk"), blackPng(16_000, 16_000)]) {
      expect((await update({ image: dataUrl(bytes, "image/svg+xml") })).body).toEqual(failed);
    }

    expect(await imageOf(stack, "users", user)).toBe(key);
  });

  it("answers 500 to an image of more than 16,384 pixels a side, and stores nothing", async () => {
    for (const bytes of [blackPng(16_385, 1), blackPng(1, 16_385)]) {
      const { status, body } = await update({ image: dataUrl(bytes) });
      expect([status, body]).toEqual([500, failed]);
    }

    expect(await imageOf(stack, "users", user)).toBeNull();
    expect(stack.s3.requests).toEqual([]);
  });

  it("answers 500 and changes nothing when the database fails", async () => {
    expect((await untouched(() => whileDatabaseFails(stack, () => update({ image: dataUrl(picture) })))).body).toEqual(
      failed,
    );
  });
});
