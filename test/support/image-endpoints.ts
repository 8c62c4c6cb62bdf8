import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { base64LengthMax } from "../../lib/images/source.ts";
import { aContributor } from "./catalogue.ts";
import type { Sql } from "./database.ts";
import { envelope, forbidden, invalidParameter, missingParameters, unauthorized } from "./envelope.ts";
import { aUser, holderOf, type Person } from "./people.ts";
import { avif, blackPng, dataUrl, pixelAt, plain, sizeOf } from "./pictures.ts";
import type { Reply } from "./stack.ts";
import { unchanged, whileDatabaseFails } from "./unchanged.ts";
import { imageOf, notedKeys, pairOf, startUploads, type UploadStack } from "./uploads.ts";

/* What holds for the image of a user as well as for the avatar of a contributor. */

export const imageResources = {
  users: {
    update: "admin-users/update-image",
    remove: "admin-users/delete-image",
    add: (sql: Sql): Promise<{ id: number }> => aUser(sql),
    folder: "profiles",
    edit: "edit-users",
    others: ["view-users", "delete-users", "edit-contributors"],
    detail: { endpoint: "admin-users/id", permission: "view-users", field: "profile_image" },
    nobody: [987_654, "administrator"],
    updated: envelope(200, "Profile image updated"),
    removed: envelope(200, "Profile image deleted"),
    missing: envelope(404, "User not found"),
    updateFailed: envelope(500, "Internal server error"),
    removeFailed: envelope(500, "Internal server error"),
  },
  contributors: {
    update: "admin-contributors/update-avatar",
    remove: "admin-contributors/delete-avatar",
    add: (sql: Sql): Promise<{ id: number }> => aContributor(sql),
    folder: "avatars",
    edit: "edit-contributors",
    others: ["view-contributors", "add-contributors", "delete-contributors"],
    detail: { endpoint: "admin-contributors/id", permission: "view-contributors", field: "image" },
    nobody: [987_654, 0, -1, "9".repeat(20)],
    updated: envelope(200, "Contributor avatar updated"),
    removed: envelope(200, "Contributor avatar deleted"),
    missing: envelope(404, "Contributor not found"),
    updateFailed: envelope(500, "An error occurred while updating the contributor avatar"),
    removeFailed: envelope(500, "An error occurred while deleting the contributor avatar"),
  },
} as const;

interface Call {
  readonly as?: string;
  readonly id?: number | string;
}

/** The stack of a test file, a person who may edit the resource, and a new record for each test. */
export function useImages(table: keyof typeof imageResources) {
  const resource = imageResources[table];
  const state = { stack: {} as UploadStack, editor: {} as Person, record: { id: 0 }, picture: Buffer.alloc(0) };
  const forget = () => {
    state.stack.dataApi.calls.length = 0;
    state.stack.s3.requests.length = 0;
  };
  const images = Object.assign(state, {
    ...resource,
    key: (): Promise<string | null> => imageOf(state.stack, table, state.record),
    updateImage: (body: unknown, { as = state.editor.token, id = state.record.id }: Call = {}): Promise<Reply> =>
      state.stack.call(resource.update, { as, path: { id }, body }),
    removeImage: ({ as = state.editor.token, id = state.record.id }: Call = {}): Promise<Reply> =>
      state.stack.call(resource.remove, { as, path: { id } }),
    /** Makes a call and proves that neither bucket nor database have anything new. */
    async untouched(call: () => Promise<Reply>): Promise<unknown> {
      const before = await state.stack.keys();
      forget();
      const { body } = await unchanged(state.stack, call);
      expect(state.stack.s3.requests).toEqual([]);
      expect(await state.stack.keys()).toEqual(before);
      return body;
    },
    /** Does something while the first request to S3 is under way. */
    async meanwhile(change: () => Promise<unknown>, call: () => Promise<Reply>): Promise<unknown> {
      state.stack.s3.intercept(async () => {
        await change();
        return undefined;
      });
      const { body } = await call().finally(() => state.stack.s3.intercept(undefined));
      return body;
    },
    forget,
  });
  beforeAll(async () => {
    images.stack = await startUploads();
    images.editor = await holderOf(images.stack.sql, resource.edit);
    images.picture = await plain("#cc3311", 2000, 1000).png().toBuffer();
  });
  beforeEach(async () => {
    images.record = await resource.add(images.stack.sql);
    images.forget();
  });
  afterAll(() => images.stack.close());
  return images;
}

type Images = ReturnType<typeof useImages>;

export function itUpdatesImages(images: Images): void {
  const { updated, missing, updateFailed, updateImage, untouched } = images;
  const image = () => dataUrl(images.picture);

  it("answers 200 and stores two sizes, cacheable for ever, at the URL in details", async () => {
    expect((await updateImage({ image: image() })).body).toEqual(updated);

    const key = await images.key();
    expect(key).toMatch(new RegExp(`^${images.folder}/[0-9a-f-]{36}\\.webp$`));
    const [full, scaled] = await Promise.all(pairOf(key).map(images.stack.object));
    for (const each of [full, scaled])
      expect(each).toMatchObject({ type: "image/webp", cache: "public, max-age=31536000, immutable" });
    expect(await sizeOf(full?.bytes ?? images.picture)).toEqual([1024, 512]);
    expect(await sizeOf(scaled?.bytes ?? images.picture)).toEqual([256, 128]);
    expect((await pixelAt(scaled?.bytes ?? images.picture, 9, 9))[0]).toBeGreaterThan(190);
    const { endpoint, permission, field } = images.detail;
    const { token } = await holderOf(images.stack.sql, permission);
    const { body } = await images.stack.call(endpoint, { as: token, path: { id: images.record.id } });
    expect(body[field]).toBe(`https://images.example.com/${key}`);
  });

  it("answers 200 with two statements and three requests to S3, and leaves no object of the former image", async () => {
    await updateImage({ image: image() });
    const before = await images.key();
    images.forget();

    await updateImage({ image: dataUrl(await plain("#0000ff").gif().toBuffer()) });

    const operations = images.stack.dataApi.calls.map(({ operation }) => operation);
    expect(operations).toEqual(["ExecuteStatement", "ExecuteStatement"]);
    expect(images.stack.s3.requests).toHaveLength(3);
    const after = await images.key();
    const keys = await images.stack.keys();
    expect(keys).toEqual(expect.arrayContaining(pairOf(after)));
    for (const key of pairOf(before)) expect(keys).not.toContain(key);
    expect(await notedKeys(images.stack)).toContain(before);
    expect(await notedKeys(images.stack)).not.toContain(after);
  });

  it("answers 200 and ignores the claimed type", async () => {
    const { picture } = images;
    for (const claimed of [
      picture.toString("base64"),
      dataUrl(picture, "text/html"),
      dataUrl(picture, "image/svg+xml"),
    ])
      expect((await updateImage({ image: claimed })).body).toEqual(updated);
  });

  it("answers 200 to 4 MB, and 413 by the gateway to more than a Lambda event may have", async () => {
    const large = Buffer.concat([images.picture, Buffer.alloc(4_200_000)]);
    expect((await updateImage({ image: dataUrl(large) })).body).toEqual(updated);

    const { status } = await fetch(`${images.stack.url}/${images.update}/${images.record.id}`, {
      method: "POST",
      headers: { Cookie: `refreshToken=${images.editor.token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ image: "A".repeat(6_400_000) }),
    });
    expect(status).toBe(413);
  });

  it("answers 400 to an invalid image, without any statement", async () => {
    const urls = ["http://169.254.169.254/latest/meta-data", "file:///etc/passwd", "data:,", "data:image/png;base64,"];
    const invalid = ["", null, 7, ["x"], "no image!", ...urls];
    for (const body of [undefined, {}, "{", ...invalid.map((each) => ({ image: each }))])
      expect(await untouched(() => updateImage(body)), JSON.stringify(body)).toEqual(missingParameters);
    expect(images.stack.dataApi.calls).toEqual([]);
  });

  it("answers 400 to an image that is too long", async () => {
    const long = "A".repeat(base64LengthMax + 4);

    expect(await untouched(() => updateImage({ image: long }))).toEqual(invalidParameter("image"));
  });

  it("answers 401 without a session, and decodes nothing", async () => {
    expect(await untouched(() => updateImage({ image: "junk" }, { as: "junk" }))).toEqual(unauthorized);
  });

  it(`answers 403 without ${images.edit}, and decodes nothing`, async () => {
    const { token } = await holderOf(images.stack.sql, ...images.others);

    for (const each of [image(), "junk"])
      expect(await untouched(() => updateImage({ image: each }, { as: token }))).toEqual(forbidden);
  });

  it("answers 404 for a record that is not there, and decodes nothing", async () => {
    for (const each of [image(), "junk"])
      for (const id of images.nobody)
        expect(await untouched(() => updateImage({ image: each }, { id }))).toEqual(missing);
  });

  it("answers 404 when the record is deleted meanwhile, and leaves no object", async () => {
    const { sql, keys } = images.stack;
    const before = await keys();
    const deletion = () =>
      images.folder === "profiles"
        ? sql`delete from users where id = ${images.record.id}`
        : sql`delete from contributors where id = ${images.record.id}`;

    expect(await images.meanwhile(deletion, () => updateImage({ image: image() }))).toEqual(missing);

    expect(await keys()).toEqual(before);
    expect(await sql`select from images_to_remove where remove_after > now()`).toHaveLength(0);
  });

  it("answers 500 to a file that is no image, or has too many pixels, and keeps the former", async () => {
    await updateImage({ image: image() });
    const key = await images.key();
    const svg = "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>";
    const large = [blackPng(16_385, 1), blackPng(1, 16_385), blackPng(16_000, 16_000), await avif(4_001, 4_000)];

    for (const bytes of [Buffer.from(svg), Buffer.from("junk"), images.picture.subarray(0, 60), ...large])
      expect((await updateImage({ image: dataUrl(bytes, "image/svg+xml") })).body).toEqual(updateFailed);

    expect(await images.key()).toBe(key);
    expect(await images.stack.keys()).toEqual(expect.arrayContaining(pairOf(key)));
  });

  it("answers without a request to any URL in the image", async () => {
    const asked: (string | undefined)[] = [];
    const server = createServer(({ url }, response) => response.end(String(asked.push(url)))).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/image.svg`;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg"><image href="${url}"/></svg>`;
    const ftyp = "\0\0\0\x18ftypavif\0\0\0\0mif1avif";

    const hidden = [svg, ftyp + svg].map((each) => dataUrl(Buffer.from(each, "latin1")));
    const replies = await Promise.all(
      [url, `data:image/png,${url}`, ...hidden].map((each) => updateImage({ image: each })),
    );
    server.close();

    expect(replies.map(({ status }) => status)).toEqual([400, 400, 500, 500]);
    expect(asked).toEqual([]);
  });

  it("answers 500 and changes nothing when the database fails", async () => {
    const update = () => updateImage({ image: image() });

    expect(await untouched(() => whileDatabaseFails(images.stack, update))).toEqual(updateFailed);
  });
}

/** Each record has an image. */
export function itRemovesImages(images: Images): void {
  const { removed, missing, removeFailed, removeImage, untouched } = images;
  beforeEach(async () => {
    await images.updateImage({ image: dataUrl(await plain().webp().toBuffer()) });
    images.forget();
  });

  it("answers 200 with one statement, and removes both sizes and the reference", async () => {
    const key = await images.key();
    expect((await removeImage()).body).toEqual(removed);

    expect(images.stack.dataApi.calls).toHaveLength(1);
    expect(images.stack.s3.requests).toHaveLength(1);
    expect(await images.key()).toBeNull();
    for (const each of pairOf(key)) expect(await images.stack.keys()).not.toContain(each);
  });

  it("answers 200 when S3 does not answer, and leaves the objects to the scheduled removal", async () => {
    const { s3, keys, sweep } = images.stack;
    const key = await images.key();
    s3.intercept(() => "error-before");
    const { body } = await removeImage();
    s3.intercept(undefined);

    expect(body).toEqual(removed);
    expect(await keys()).toEqual(expect.arrayContaining(pairOf(key)));
    expect(await notedKeys(images.stack)).toContain(key);
    await sweep();
    for (const each of pairOf(key)) expect(await keys()).not.toContain(each);
  });

  it("answers 401 without a session, and the image stays", async () => {
    expect(await untouched(() => removeImage({ as: "junk" }))).toEqual(unauthorized);
  });

  it(`answers 403 without ${images.edit}, and the image stays`, async () => {
    const { token } = await holderOf(images.stack.sql, ...images.others);

    expect(await untouched(() => removeImage({ as: token }))).toEqual(forbidden);
  });

  it("answers 404 for a record that is not there", async () => {
    for (const id of images.nobody) expect(await untouched(() => removeImage({ id }))).toEqual(missing);
  });

  it("answers 500 for a record without an image", async () => {
    const { id } = await images.add(images.stack.sql);

    expect(await untouched(() => removeImage({ id }))).toEqual(removeFailed);
  });

  it("answers 500 to all but one of many at once", async () => {
    const replies = await Promise.all(Array.from({ length: 8 }, () => removeImage()));

    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(500)]);
  });

  it("answers 500 and changes nothing when the database fails", async () => {
    expect(await untouched(() => whileDatabaseFails(images.stack, () => removeImage()))).toEqual(removeFailed);
  });
}
