import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { base64LengthMax } from "../../../lib/images/source.ts";
import { aContributor } from "../../support/catalogue.ts";
import { envelope, forbidden, invalidParameter, missingParameters, unauthorized } from "../../support/envelope.ts";
import { holderOf, type Person } from "../../support/people.ts";
import { blackPng, dataUrl, pixelAt, plain, sizeOf } from "../../support/pictures.ts";
import { unchanged, whileDatabaseFails } from "../../support/unchanged.ts";
import { imageOf, notedKeys, pairOf, startUploads, type UploadStack } from "../../support/uploads.ts";

let stack: UploadStack;
let editor: Person;
let picture: Buffer;
let contributor: { id: number };

beforeAll(async () => {
  stack = await startUploads();
  editor = await holderOf(stack.sql, "edit-contributors");
  picture = await plain("#cc3311", 2000, 1000).png().toBuffer();
});

beforeEach(async () => {
  contributor = await aContributor(stack.sql);
  stack.dataApi.calls.length = 0;
  stack.s3.requests.length = 0;
});

afterAll(() => stack.close());

const update = (body: unknown, { as = editor.token, id = contributor.id as number | string } = {}) =>
  stack.call("admin-contributors/update-avatar", { as, path: { id }, body });

const done = envelope(200, "Contributor avatar updated");
const failed = envelope(500, "An error occurred while updating the contributor avatar");

/** Makes a call and proves that neither bucket nor database have anything new. */
async function untouched(call: () => ReturnType<typeof update>) {
  const reply = await unchanged(stack, call);
  expect(stack.s3.requests).toEqual([]);
  return reply;
}

describe("POST /admin-contributors/update-avatar/{id}", () => {
  it("answers 200 and stores two sizes, cacheable for ever, at the URL in lists and details", async () => {
    expect((await update({ image: dataUrl(picture) })).body).toEqual(done);

    const key = await imageOf(stack, "contributors", contributor);
    expect(key).toMatch(/^avatars\/[0-9a-f-]{36}\.webp$/);
    const [full, scaled] = await Promise.all(pairOf(key).map(stack.object));
    for (const each of [full, scaled]) {
      expect(each).toMatchObject({ type: "image/webp", cache: "public, max-age=31536000, immutable" });
    }
    expect(await sizeOf(full?.bytes ?? picture)).toEqual([1024, 512]);
    expect(await sizeOf(scaled?.bytes ?? picture)).toEqual([256, 128]);
    const viewer = await holderOf(stack.sql, "view-contributors");
    const { body } = await stack.call("admin-contributors/id", { as: viewer.token, path: { id: contributor.id } });
    expect(body.image).toBe(`https://images.example.com/${key}`);
  });

  it("answers 200 with two statements and three requests to S3, and leaves no object of the former avatar", async () => {
    await update({ image: dataUrl(picture) });
    const before = await imageOf(stack, "contributors", contributor);
    stack.dataApi.calls.length = 0;
    stack.s3.requests.length = 0;

    await update({ image: dataUrl(await plain("#0000ff").png().toBuffer()) });

    expect(stack.dataApi.calls.map(({ operation }) => operation)).toEqual(["ExecuteStatement", "ExecuteStatement"]);
    expect(stack.s3.requests).toHaveLength(3);
    const after = await imageOf(stack, "contributors", contributor);
    expect(after).not.toBe(before);
    const keys = await stack.keys();
    expect(keys).toEqual(expect.arrayContaining(pairOf(after)));
    for (const key of pairOf(before)) expect(keys).not.toContain(key);
    expect(await notedKeys(stack)).toContain(before);
    expect(await notedKeys(stack)).not.toContain(after);
  });

  it("answers 200 and ignores the claimed type", async () => {
    for (const image of [
      picture.toString("base64"),
      dataUrl(picture, "text/html"),
      dataUrl(picture, "image/svg+xml"),
    ]) {
      expect((await update({ image })).body).toEqual(done);
    }
    const key = await imageOf(stack, "contributors", contributor);
    expect((await pixelAt((await stack.object(key ?? "")).bytes, 9, 9))[0]).toBeGreaterThan(190);
  });

  it("answers 200 to 4 MB, and 413 by the gateway to more than a Lambda event may have", async () => {
    const large = Buffer.concat([picture, Buffer.alloc(4_200_000)]);
    expect((await update({ image: dataUrl(large) })).body).toEqual(done);

    const { status } = await fetch(`${stack.url}/admin-contributors/update-avatar/${contributor.id}`, {
      method: "POST",
      headers: { Cookie: `refreshToken=${editor.token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ image: "A".repeat(6_400_000) }),
    });
    expect(status).toBe(413);
  });

  it("answers 400 to an invalid image, without any statement", async () => {
    const bodies = [
      undefined,
      {},
      { image: "" },
      { image: null },
      { image: 7 },
      { image: ["x"] },
      { image: "no image!" },
      { image: "http://169.254.169.254/latest/meta-data" },
      { image: "file:///etc/passwd" },
      { image: "data:image/png;base64," },
      "{",
    ];
    for (const body of bodies) {
      expect((await untouched(() => update(body))).body, JSON.stringify(body)).toEqual(missingParameters);
    }
    expect((await untouched(() => update({ image: "A".repeat(base64LengthMax + 4) }))).body).toEqual(
      invalidParameter("image"),
    );
    expect((await untouched(() => update({ image: dataUrl(picture) }, { id: "nobody" }))).body).toEqual(
      missingParameters,
    );
    expect(stack.dataApi.calls).toEqual([]);
  });

  it("answers 401 without a session, and decodes nothing", async () => {
    expect((await untouched(() => update({ image: dataUrl(Buffer.from("junk")) }, { as: "junk" }))).body).toEqual(
      unauthorized,
    );
  });

  it("answers 403 without edit-contributors, and decodes nothing", async () => {
    const viewer = await holderOf(stack.sql, "view-contributors", "add-contributors", "delete-contributors");

    for (const image of [dataUrl(picture), dataUrl(Buffer.from("junk"))]) {
      expect((await untouched(() => update({ image }, { as: viewer.token }))).body).toEqual(forbidden);
    }
  });

  it("answers 404 for a contributor who is not there, and decodes nothing", async () => {
    for (const image of [dataUrl(picture), dataUrl(Buffer.from("junk"))])
      for (const id of [987_654, 0])
        expect((await untouched(() => update({ image }, { id }))).body).toEqual(envelope(404, "Contributor not found"));
  });

  it("answers 404 when the contributor is deleted meanwhile, and leaves no object", async () => {
    const before = await stack.keys();
    stack.s3.intercept(async () => {
      await stack.sql`delete from contributors where id = ${contributor.id}`;
      return undefined;
    });

    const { body } = await update({ image: dataUrl(picture) });
    stack.s3.intercept(undefined);

    expect(body).toEqual(envelope(404, "Contributor not found"));
    expect(await stack.keys()).toEqual(before);
    expect(await stack.sql`select from images_to_remove where remove_after > now()`).toHaveLength(0);
  });

  it("answers 500 to a file that is no image and to a too large image, and keeps the avatar", async () => {
    await update({ image: dataUrl(picture) });
    const key = await imageOf(stack, "contributors", contributor);
    const svg = "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>";

    for (const bytes of [Buffer.from(svg), Buffer.from("junk"), blackPng(1, 16_385), picture.subarray(0, 60)]) {
      expect((await update({ image: dataUrl(bytes) })).body).toEqual(failed);
    }

    expect(await imageOf(stack, "contributors", contributor)).toBe(key);
    expect(await stack.keys()).toEqual(expect.arrayContaining(pairOf(key)));
  });

  it("answers without a request to any URL in the image", async () => {
    const asked: (string | undefined)[] = [];
    const server = createServer((request, response) => response.end(String(asked.push(request.url)))).listen(
      0,
      "127.0.0.1",
    );
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/image.svg`;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg"><image href="${url}"/></svg>`;
    const ftyp = "\0\0\0\x18ftypavif\0\0\0\0mif1avif";

    const images = [
      url,
      `data:image/png,${url}`,
      ...[svg, ftyp + svg].map((each) => dataUrl(Buffer.from(each, "latin1"))),
    ];
    const statuses = await Promise.all(images.map(async (image) => (await update({ image })).status));
    server.close();

    expect(statuses).toEqual([400, 400, 500, 500]);
    expect(asked).toEqual([]);
  });

  it("answers 500 and changes nothing when the database fails", async () => {
    expect((await untouched(() => whileDatabaseFails(stack, () => update({ image: dataUrl(picture) })))).body).toEqual(
      failed,
    );
  });
});
