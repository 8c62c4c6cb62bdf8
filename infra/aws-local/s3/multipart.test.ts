import { readdir } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { useS3 } from "../test/use-s3.ts";

const Bucket = "files";
const s3 = useS3([Bucket]);

const partBytesMin = 5 * 1_048_576;
const large = Buffer.alloc(partBytesMin, "a");

interface Place {
  readonly Bucket: string;
  readonly Key: string;
  readonly UploadId: string | undefined;
}

const begin = async (Key: string): Promise<Place> => {
  const headers = { ContentType: "text/plain", Metadata: { by: "a test" } };
  return { Bucket, Key, UploadId: (await s3.client.createMultipartUpload({ Bucket, Key, ...headers })).UploadId };
};
const upload = async (place: Place, PartNumber: number, Body: Buffer) => {
  const { ETag } = await s3.client.uploadPart({ ...place, PartNumber, Body });
  return { PartNumber, ETag };
};
const complete = (place: Place, Parts: { PartNumber: number; ETag: string | undefined }[]) =>
  s3.client.completeMultipartUpload({ ...place, MultipartUpload: { Parts } });
const unfinished = async () => (await readdir(s3.folder(Bucket))).filter((name) => name.endsWith(".unfinished"));
const isThere = (Key: string) =>
  s3.client.headObject({ Bucket, Key }).then(
    () => true,
    () => false,
  );

describe("An upload in parts", () => {
  it("becomes an object when it is completed, of the parts that are named", async () => {
    const place = await begin("large");
    const last = await upload(place, 7, Buffer.from("end"));
    await upload(place, 3, large);
    await upload(place, 2, Buffer.alloc(partBytesMin, "x"));
    const first = await upload(place, 2, Buffer.concat([Buffer.from("begin"), large]));
    expect(await isThere("large")).toBe(false);

    const { ETag } = await complete(place, [first, last]);

    const found = await s3.client.getObject({ Bucket, Key: "large" });
    expect(found).toMatchObject({ ETag, ContentType: "text/plain", Metadata: { by: "a test" } });
    expect(ETag).toMatch(/^"[0-9a-f]{32}-2"$/);
    const bytes = Buffer.from((await found.Body?.transformToByteArray()) ?? []);
    expect(bytes.equals(Buffer.concat([Buffer.from("begin"), large, Buffer.from("end")]))).toBe(true);
    expect(await unfinished()).toEqual([]);
    await expect(complete(place, [first, last])).rejects.toMatchObject({ name: "NoSuchUpload" });
  });

  it("leaves nothing when it is aborted", async () => {
    const place = await begin("aborted");
    const part = await upload(place, 1, large);

    const yours = upload({ ...place, Key: "yours" }, 1, large);
    await expect(yours, "of another key").rejects.toMatchObject({ name: "NoSuchUpload" });

    await s3.client.abortMultipartUpload(place);

    expect(await unfinished()).toEqual([]);
    await expect(complete(place, [part])).rejects.toMatchObject({ name: "NoSuchUpload" });
    await expect(upload(place, 2, large)).rejects.toMatchObject({ name: "NoSuchUpload" });
    expect(await isThere("aborted")).toBe(false);
  });

  it("is dropped at the next start", async () => {
    const place = await begin("dropped");
    await upload(place, 1, large);
    expect(await unfinished()).toHaveLength(1);

    await s3.restart();

    expect(await unfinished()).toEqual([]);
    await expect(upload(place, 2, large)).rejects.toMatchObject({ name: "NoSuchUpload" });
  });

  it.each([
    ["a part that was not uploaded", "InvalidPart", [1, 3]],
    ["a small part before the last", "EntityTooSmall", [2, 4]],
    ["no part", "MalformedXML", []],
  ])("is not completed with %s, but can be later", async (_, name, numbers) => {
    const place = await begin("later");
    const parts = new Map([
      [1, await upload(place, 1, large)],
      [2, await upload(place, 2, Buffer.from("small"))],
      [4, await upload(place, 4, large)],
    ]);
    const named = numbers.map((PartNumber) => parts.get(PartNumber) ?? { PartNumber, ETag: '"0"' });

    await expect(complete(place, named)).rejects.toMatchObject({ name, $metadata: { httpStatusCode: 400 } });

    await complete(place, [...parts.values()].slice(0, 2));
  });
});
