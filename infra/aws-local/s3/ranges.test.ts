import { GetObjectCommand, HeadObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { describe, expect, it } from "vitest";
import { useS3 } from "../test/use-s3.ts";

const Bucket = "files";
const s3 = useS3([{ name: Bucket }]);

describe("A range of an object", () => {
  const get = (Range: string, Key = "digits") => s3.client.send(new GetObjectCommand({ Bucket, Key, Range }));

  it.each([
    ["bytes=2-4", "234", "bytes 2-4/10"],
    ["bytes=7-", "789", "bytes 7-9/10"],
    ["bytes=8-100", "89", "bytes 8-9/10"],
    ["bytes=-3", "789", "bytes 7-9/10"],
    ["bytes=-30", "0123456789", "bytes 0-9/10"],
  ])("%s is %s", async (range, text, ContentRange) => {
    await s3.client.send(new PutObjectCommand({ Bucket, Key: "digits", Body: "0123456789" }));

    const found = await get(range);

    expect(found).toMatchObject({ ContentRange, ContentLength: text.length, $metadata: { httpStatusCode: 206 } });
    expect(await found.Body?.transformToString()).toBe(text);
    const head = await s3.client.send(new HeadObjectCommand({ Bucket, Key: "digits", Range: range }));
    expect(head.ContentLength).toBe(text.length);
  });

  it.each(["bytes=4-2", "bytes=0-1,4-5", "digits=0-1"])("%s means all of it", async (range) => {
    await s3.client.send(new PutObjectCommand({ Bucket, Key: "digits", Body: "0123456789" }));

    const found = await get(range);

    expect([found.$metadata.httpStatusCode, await found.Body?.transformToString()]).toEqual([200, "0123456789"]);
  });

  it.each([
    ["digits", "bytes=10-"],
    ["empty", "bytes=0-"],
    ["empty", "bytes=-1"],
  ])("of %s is refused where there is nothing, as %s", async (Key, range) => {
    await s3.client.send(new PutObjectCommand({ Bucket, Key, Body: Key === "empty" ? "" : "0123456789" }));

    await expect(get(range, Key)).rejects.toMatchObject({ name: "InvalidRange", $metadata: { httpStatusCode: 416 } });
  });
});
