import { createServer } from "node:http";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { listenToClients } from "../../infra/aws-local/http/listen.ts";
import { endpointPath } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { render } from "../../lib/images/render.ts";
import { base64LengthMax } from "../../lib/images/source.ts";
import { useAdministrator, useHolder } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { identifier } from "../support/database.ts";
import {
  envelope,
  forbidden,
  forbiddenBy,
  invalidParameter,
  missingParameters,
  unauthorized,
} from "../support/envelope.ts";
import { anAdministrator, aUser } from "../support/people.ts";
import { avif, blackPng, dataUrl, pixelAt, plain, sizeOf, tinyImage } from "../support/pictures.ts";
import { makers } from "../support/requests.ts";
import { type Reply, useStack } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";
import { expectAgreement, imageOf, notedKeys, pairOf, useUploads } from "../support/uploads.ts";

const stack = useUploads();
let picture: Buffer;
let image: string;

beforeAll(async () => {
  picture = await plain("#cc3311", 2000, 1000).png().toBuffer();
  image = dataUrl(picture);
});

const forget = () => {
  stack.dataApi.calls.length = 0;
  stack.s3.requests.length = 0;
};

/** Makes a call and proves that it sent nothing to S3, and changed nothing. */
async function untouched(call: () => Promise<Reply>): Promise<unknown> {
  forget();
  const { body } = await unchanged(stack, call);
  expect(stack.s3.requests).toEqual([]);
  return body;
}

/** Does something while the first request to S3 is under way. */
async function meanwhile(change: () => Promise<unknown>, call: () => Promise<Reply>): Promise<unknown> {
  stack.s3.intercept(async () => {
    await change();
    return undefined;
  });
  const { body } = await call().finally(() => stack.s3.intercept(undefined));
  return body;
}

describe.each([
  {
    table: "users",
    updating: "POST /admin-users/update-image/{id}",
    removing: "DELETE /admin-users/delete-image/{id}",
    image: "image",
    folder: "profiles",
    detail: "profile_image",
    name: "Profile image",
    missing: envelope(404, "User not found"),
    failed: (_: string) => envelope(500, "Internal server error"),
  },
  {
    table: "contributors",
    updating: "POST /admin-contributors/update-avatar/{id}",
    removing: "DELETE /admin-contributors/delete-avatar/{id}",
    image: "avatar",
    folder: "avatars",
    detail: "image",
    name: "Contributor avatar",
    missing: envelope(404, "Contributor not found"),
    failed: (action: string) => envelope(500, `An error occurred while ${action} the contributor avatar`),
  },
] as const)("Images of $table", ({ table, name, missing, failed, ...resource }) => {
  const updated = envelope(200, `${name} updated`);
  const [update, remove] = [`admin-${table}/update-${resource.image}`, `admin-${table}/delete-${resource.image}`];
  const editor = useHolder(stack, `edit-${table}`, `view-${table}`);
  const stranger = useHolder(stack, `view-${table}`, `delete-${table}`);
  let record: { id: number };

  const key = () => imageOf(stack, table, record);
  const updateImage = (body: unknown, as = editor.token, id = record.id) =>
    stack.call(update, { as, path: { id }, body });
  const removeImage = (id = record.id) => editor.call(remove, { path: { id } });

  beforeEach(async () => {
    record = await makers[table](stack.sql);
  });

  describe(resource.updating, () => {
    it("returns 200 and stores two sizes, cacheable for ever, at the URL in details", async () => {
      expect((await updateImage({ image })).body).toEqual(updated);

      const stored = await key();
      expect(stored).toMatch(new RegExp(`^${resource.folder}/[0-9a-f-]{36}\\.webp$`));
      const [full, scaled] = await Promise.all(pairOf(stored).map(stack.object));
      for (const each of [full, scaled])
        expect(each).toMatchObject({ type: "image/webp", cache: "public, max-age=31536000, immutable" });
      expect(await sizeOf(full?.bytes ?? picture)).toEqual([1024, 512]);
      expect(await sizeOf(scaled?.bytes ?? picture)).toEqual([256, 128]);
      expect((await pixelAt(scaled?.bytes ?? picture, 9, 9))[0]).toBeGreaterThan(190);
      const { body } = await editor.call(`admin-${table}/id`, { path: { id: record.id } });
      expect(body[resource.detail]).toBe(`https://images.example.com/${stored}`);
    });

    it("returns 200 with two statements and three requests to S3, and leaves no object of the former image", async () => {
      await updateImage({ image });
      const before = await key();
      forget();

      await updateImage({ image: dataUrl(await plain("#0000ff").gif().toBuffer()) });

      expect(stack.dataApi.calls.map(({ operation }) => operation)).toEqual(Array(2).fill("ExecuteStatement"));
      expect(stack.s3.requests).toHaveLength(3);
      const [after, keys, noted] = [await key(), await stack.keys(), await notedKeys(stack)];
      expect(keys).toEqual(expect.arrayContaining(pairOf(after)));
      expect(keys.filter((each) => pairOf(before).includes(each))).toEqual([]);
      expect([noted.includes(`${before}`), noted.includes(`${after}`)]).toEqual([true, false]);
    });

    it.each([
      { what: "without a type", given: () => picture.toString("base64") },
      { what: "of another claimed type", given: () => dataUrl(picture, "image/svg+xml") },
      { what: "of 4 MB", given: () => dataUrl(Buffer.concat([picture, Buffer.alloc(4_200_000)]), "text/html") },
    ])("returns 200 to an image $what", async ({ given }) => {
      expect((await updateImage({ image: given() })).body).toEqual(updated);
    });

    it("returns 413 by the gateway to more than a Lambda event may have", async () => {
      const { status } = await fetch(`${stack.url}/${update}/${record.id}`, {
        method: "POST",
        headers: { Cookie: `refreshToken=${editor.token}`, "Content-Type": "application/json" },
        body: JSON.stringify({ image: "A".repeat(6_400_000) }),
      });
      expect(status).toBe(413);
    });

    it("returns 400 to an invalid image without any statement", async () => {
      const invalid = ["", null, 7, ["x"], "no image!", "http://169.254.169.254/latest/meta-data", "data:,"];
      for (const body of [undefined, {}, "{", ...invalid.map((each) => ({ image: each }))])
        expect(await untouched(() => updateImage(body)), JSON.stringify(body)).toEqual(missingParameters);
      expect(stack.dataApi.calls).toEqual([]);
    });

    it("returns 400 to an image that is too long", async () => {
      const long = "A".repeat(base64LengthMax + 4);
      expect(await untouched(() => updateImage({ image: long }))).toEqual(invalidParameter("image"));
    });

    describe("decodes no image before it returns", () => {
      const junk = { image: "junk" };

      it("401 to an unknown session", async () => {
        expect(await untouched(() => updateImage(junk, "unknown"))).toEqual(unauthorized);
      });

      it("403 without the permission", async () => {
        expect(await untouched(() => updateImage(junk, stranger.token))).toEqual(forbidden);
      });

      it("404 to an unknown record", async () => {
        expect(await untouched(() => updateImage(junk, editor.token, 987_654))).toEqual(missing);
      });
    });

    it("returns 404 when the record is deleted meanwhile, and leaves no object", async () => {
      const before = await stack.keys();
      const deletion = () => stack.sql`delete from ${identifier(table)} where id = ${record.id}`;

      expect(await meanwhile(deletion, () => updateImage({ image }))).toEqual(missing);

      expect(await stack.keys()).toEqual(before);
    });

    const svg = Buffer.from("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>");

    it.each([
      { what: "an SVG", file: () => svg },
      { what: "a file that is no image", file: () => Buffer.from("junk") },
      { what: "a part of an image", file: () => picture.subarray(0, 60) },
      { what: "an image that is too wide", file: () => blackPng(16_385, 1) },
      { what: "an image that is too high", file: () => blackPng(1, 16_385) },
      { what: "an image of too many pixels", file: () => blackPng(16_000, 16_000) },
      { what: "an AVIF of too many pixels", file: () => avif(4_001, 4_000) },
    ])("returns 500 to $what, and keeps the old image", async ({ file }) => {
      await updateImage({ image });
      const before = await key();

      expect((await updateImage({ image: dataUrl(await file(), "image/svg+xml") })).body).toEqual(failed("updating"));

      expect(await key()).toBe(before);
      expect(await stack.keys()).toEqual(expect.arrayContaining(pairOf(before)));
    });

    it("returns without a request to any URL in the image", async () => {
      const requested: (string | undefined)[] = [];
      const own = createServer(({ url }, response) => response.end(String(requested.push(url))));
      const server = await listenToClients(own);
      const url = `${server.url}/image.svg`;
      const svg = `<svg xmlns="http://www.w3.org/2000/svg"><image href="${url}"/></svg>`;
      const ftyp = "\0\0\0\x18ftypavif\0\0\0\0mif1avif";

      const hidden = [svg, ftyp + svg].map((each) => dataUrl(Buffer.from(each, "latin1")));
      const replies = await Promise.all(
        [url, `data:image/png,${url}`, ...hidden].map((each) => updateImage({ image: each })),
      );
      await server.close();

      expect(replies.map(({ status }) => status)).toEqual([400, 400, 500, 500]);
      expect(requested).toEqual([]);
    });
  });

  describe(resource.removing, () => {
    beforeEach(async () => {
      await updateImage({ image: tinyImage });
      forget();
    });

    it("returns 200 with one statement, and removes both sizes and the reference", async () => {
      const before = await key();

      expect((await removeImage()).body).toEqual(envelope(200, `${name} deleted`));

      expect([stack.dataApi.calls.length, stack.s3.requests.length]).toEqual([1, 1]);
      expect(await key()).toBeNull();
      for (const each of pairOf(before)) expect(await stack.keys()).not.toContain(each);
    });

    it("returns 500 for a record without an image", async () => {
      await removeImage();

      expect(await untouched(() => removeImage())).toEqual(failed("deleting"));
    });

    it("returns 500 to all but one of many at once", async () => {
      const replies = await Promise.all(Array.from({ length: 8 }, () => removeImage()));

      expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(500)]);
    });

    it("is done by the deletion of the record, too, before that is answered 200", async () => {
      const before = pairOf(await key());
      expect(await stack.keys()).toEqual(expect.arrayContaining(before));

      expect((await stranger.call(`admin-${table}/delete`, { path: { id: record.id } })).status).toBe(200);

      expect((await stack.keys()).filter((each) => before.includes(each))).toEqual([]);
    });
  });

  it("agree with the bucket after 30 updates at once, of which one image is left, which is served", async () => {
    const replies = await Promise.all(Array.from({ length: 30 }, () => updateImage({ image: tinyImage })));

    expect(replies.map(({ status }) => status)).toEqual(Array(30).fill(200));
    for (const each of pairOf(await key()))
      expect((await fetch(`${stack.url}/images/${each}`)).headers.get("content-type")).toBe("image/webp");
    await expectAgreement(stack);
  });

  it("agree with the bucket after updates, removals, scheduled removals and deletions of records at once", async () => {
    const others = await Promise.all(Array.from({ length: 10 }, () => makers[table](stack.sql)));
    const updateOf = (id = record.id) => updateImage({ image: tinyImage }, editor.token, id);
    const works = [() => stack.sweep(), () => updateOf(), () => removeImage()];

    await Promise.all([
      ...Array.from({ length: 36 }, (_, index) => works[index % 3]?.()),
      ...others.flatMap(({ id }) => [
        updateOf(id),
        stranger.call(`admin-${table}/delete`, { path: { id } }),
        updateOf(id),
      ]),
    ]);

    expect(await stack.keys()).toEqual(expect.arrayContaining(pairOf(await key())));
    const ids = others.map(({ id }) => id);
    expect(await stack.sql`select from ${identifier(table)} where id = any(${ids})`).toEqual([]);
    await expectAgreement(stack);
  });

  it.runIf(table === "users")("return 403 where the user outranks the caller, also since a moment ago", async () => {
    const { id, token } = await anAdministrator(stack.sql);
    const [own, before] = [await updateImage({ image }, token, id), await stack.keys()];
    const promotion = () => stack.sql`
      insert into user_roles (user_id, role_id)
      select ${record.id}, id from roles where key = 'administrator'
      on conflict do nothing
    `;

    expect(own.body).toEqual(updated);
    expect(await untouched(() => updateImage({ image }, editor.token, id))).toEqual(forbiddenBy(2));
    expect(await untouched(() => removeImage(id))).toEqual(forbiddenBy(2));
    expect(await meanwhile(promotion, () => updateImage({ image }))).toEqual(forbiddenBy(2));
    expect([await key(), await stack.keys()]).toEqual([null, before]);
  });
});

describe("GET /contributor/slug/{slug} with include=images", () => {
  const editor = useHolder(stack, "edit-contributors");
  const imagesOf = async (slug: string) => {
    const { body } = await stack.call("contributor/slug", { path: { slug }, query: { include: "images" } });
    return body.images;
  };

  it.each([
    {
      what: "a large picture",
      file: () => picture,
      small: { width: 256, height: 128 },
      full: { width: 1024, height: 512 },
    },
    {
      what: "a picture that is not scaled",
      file: () => plain("#00ff00", 500, 400).png().toBuffer(),
      small: { width: 256, height: 205 },
      full: { width: 500, height: 400 },
    },
  ])("returns 200 with both sizes of the avatar for srcset: $what", async ({ file, small, full }) => {
    const { id, slug } = await aContributor(stack.sql);

    await editor.call("admin-contributors/update-avatar", { path: { id }, body: { image: dataUrl(await file()) } });

    const [key, smallKey] = pairOf(await imageOf(stack, "contributors", { id })).map(
      (each) => `https://images.example.com/${each}`,
    );
    expect(await imagesOf(slug)).toEqual([
      { url: smallKey, ...small },
      { url: key, ...full },
    ]);
  });

  it("returns 200 without images where there never was an avatar", async () => {
    const { slug } = await aContributor(stack.sql);

    expect(await imagesOf(slug)).toEqual([]);
  });

  it("returns 200 without images after the avatar is removed", async () => {
    const { id, slug } = await aContributor(stack.sql);
    const path = { id };
    await editor.call("admin-contributors/update-avatar", { path, body: { image: dataUrl(picture) } });

    await editor.call("admin-contributors/delete-avatar", { path });

    expect(await imagesOf(slug)).toEqual([]);
    expect((await stack.sql`select image_size from contributors where id = ${id}`)[0]?.image_size).toBeNull();
  });

  it("returns 200 with the sizes that sharp makes of any picture, and one alone of a small picture", async () => {
    const { id, slug } = await aContributor(stack.sql, { image: "avatars/any.webp" });
    const sides = [1, 2, 6, 10, 100, 255, 256, 257, 333, 342, 682, 683, 769, 1023, 1024];
    for (const [width, height] of sides.flatMap((each) => [
      [each, 1024],
      [1023, each],
      [each, 300],
    ]) as [number, number][]) {
      const { full, scaled, size } = await render(blackPng(width, height));
      await stack.sql`update contributors set image_size = ${size} where id = ${id}`;
      const sizes = [await sizeOf(scaled), await sizeOf(full)];
      const expected = Math.max(width, height) > 256 ? sizes : sizes.slice(1);
      const shown = (await imagesOf(slug)).map((each: { width: number; height: number }) => [each.width, each.height]);
      expect([size, shown]).toEqual([`${width}x${height}`, expected]);
    }
  });
});

describe("An instance without uploads", () => {
  const without = useStack();
  const administrator = useAdministrator(without);
  const uploading = endpoints.filter(({ needsFileService }) => needsFileService).map(endpointPath);

  it.each(uploading)("returns 503 to %s, whoever sends whatever, and touches nothing", async (name) => {
    const body = name.includes("update") ? { image: "data:image/png;base64,AAAA" } : undefined;
    for (const as of [administrator.token, "junk", undefined])
      for (const id of [1, "nobody", ""]) {
        const reply = await unchanged(without, () => without.call(name, { as, path: { id }, body }));
        expect(reply.body).toEqual(envelope(503, "This service is not handling file uploads."));
      }
    expect(without.dataApi.calls).toEqual([]);
  });

  it("still deletes users and contributors with images, and lists the images for an instance with the bucket", async () => {
    const user = await aUser(without.sql);
    const contributor = await aContributor(without.sql, { image: "avatars/theirs.webp" });
    await without.sql`update users set image = 'profiles/theirs.webp' where id = ${user.id}`;

    for (const [table, { id }] of Object.entries({ users: user, contributors: contributor }))
      expect((await administrator.call(`admin-${table}/delete`, { path: { id } })).status).toBe(200);

    expect(uploading).toHaveLength(4);
    expect(await notedKeys(without)).toEqual(["avatars/theirs.webp", "profiles/theirs.webp"]);
  });
});
