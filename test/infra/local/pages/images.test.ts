import { beforeAll, describe, expect, inject, it } from "vitest";
import { send } from "../../../../infra/aws-local/test/send.ts";
import { avatars, covers, drawingPages } from "../../../../infra/local/demo/drawings.ts";
import { readCatalogue } from "../../../../infra/local/demo/load.ts";
import { storeAvatars } from "../../../../infra/local/demo/store-avatars.ts";
import { scaledKey } from "../../../../lib/images/keys.ts";
import { key } from "../../../support/environment.ts";
import { latestChange, settleImages, undo, undone } from "../../../support/undo.ts";
import { useUploads } from "../../../support/uploads.ts";

const lines = await readCatalogue();
/** Of contributors, in the order of the catalogue. */
const [avatar = "", ...otherAvatars] = avatars(lines).map(([name]) => name);
const stack = useUploads({ from: "demo", pages: [drawingPages(covers(lines))] });

/** As each start of the service does. */
const store = () => storeAvatars(`${inject("databaseUrl")}/${process.env.DATABASE_NAME}`, stack.s3.url, key);

beforeAll(store);

const get = (name: string, init?: RequestInit) => fetch(`${stack.url}/images/${name}`, init);

describe("GET /images/{key}", () => {
  it("returns 200 with the headers of a CDN", async () => {
    const response = await get(avatar);

    const { length } = Buffer.from(await response.text());

    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "image/svg+xml",
      "content-length": `${length}`,
      "cache-control": "public, max-age=86400",
      "content-security-policy": "default-src 'none'; sandbox",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "cross-origin",
    });
  });

  it("returns 304 for a matching ETag", async () => {
    const { headers } = await get(avatar);

    const again = await get(avatar, { headers: { "If-None-Match": headers.get("etag") ?? "" } });

    expect(again.status).toBe(304);
  });

  it("returns 200 to HEAD with the length of the image", async () => {
    const { length } = Buffer.from(await (await get(avatar)).text());

    const { status, headers } = await get(avatar, { method: "HEAD" });

    expect([status, headers.get("content-length")]).toEqual([200, `${length}`]);
  });

  it.each([
    "avatars/two.webp",
    `${avatar.replace("/", "%2F")}.object`,
    avatar.replace("/", "/..%2f"),
    `avatars/../${avatar}`,
    "?list-type=2",
    "one.webp",
    "covers/nobody-1.svg",
  ])("returns 404 to /images/%s, for nobody to keep", async (name) => {
    const headers = { "cache-control": "no-store" };
    expect(await send(stack.url, `/images/${name}`)).toMatchObject({ status: 404, headers });
  });
});

describe("The images of the demo data", () => {
  it("are drawn, covers in the shape of their volumes, and each of its own look", async () => {
    const volumes = lines.flatMap((line) => (line.kind === "series" ? (line.volumes ?? []) : []));
    const shapes = volumes.flatMap(({ cover, aspect_ratio: ratio }) => (cover ? [[cover, ratio] as const] : []));
    const images = [...shapes.slice(0, 40), ...otherAvatars.map((each) => [each, 1] as const)];
    const texts = await Promise.all(images.map(async ([image]) => await (await get(image)).text()));

    for (const [at, text] of texts.entries()) {
      const [, width, height] = /^<svg [^>]*width="(\d+)" height="(\d+)"/.exec(text) ?? [];
      expect(Number(width) / Number(height)).toBeCloseTo(images[at]?.[1] ?? 0, 2);
      expect(text).not.toMatch(/undefined|NaN/);
    }
    expect(new Set(texts).size).toBeGreaterThan(50);
  });

  it("of contributors are removed and restored as uploaded ones, also when the service starts meanwhile", async () => {
    const [contributor] = await stack.sql`select id from contributors where image = ${avatar}`;
    const stored = await stack.keys();
    const typeOf = async (name: string) => {
      const response = await get(name);
      return response.ok ? response.headers.get("content-type") : response.status;
    };
    const types = () => Promise.all([avatar, scaledKey(avatar)].map(typeOf));
    expect(await types()).toEqual(["image/svg+xml", "image/svg+xml"]);

    await stack.call("admin-contributors/delete-avatar", { as: "local-editor", path: { id: contributor?.id } });
    const removal = await latestChange(stack.sql);
    await settleImages(stack.sql);
    await store();

    expect(await types()).toEqual([404, 404]);
    expect(await undo(stack, { change: removal, dryRun: true })).toMatchObject({ undone: [{ missing: [] }] });
    await undone(stack, removal);
    expect(await types()).toEqual(["image/svg+xml", "image/svg+xml"]);
    expect(await stack.keys()).toEqual(stored);
  });
});
