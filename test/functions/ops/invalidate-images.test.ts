import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { type Lambda, startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { settingsOf } from "../../../infra/local/stage/functions.ts";
import { type CloudFront, startCloudFront } from "../../support/cloudfront.ts";
import { key } from "../../support/environment.ts";

const distribution = "E2QWRUHAPOMQZL";

let cloudFront: CloudFront;
/** What happens while CloudFront accepts an invalidation. */
let meanwhile: () => void;
let lambda: Lambda;
let withoutCdn: Lambda;

beforeAll(async () => {
  cloudFront = await startCloudFront(() => meanwhile());
  const variables = {
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: key.accessKeyId,
    AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
    AWS_ENDPOINT_URL_CLOUDFRONT: cloudFront.url,
  };
  const outdir = inject("outdir");
  lambda = await startLambda({ outdir, settingsOf, variables: { ...variables, IMAGE_DISTRIBUTION: distribution } });
  withoutCdn = await startLambda({ outdir, settingsOf, variables });
});

beforeEach(() => {
  cloudFront.requests.length = 0;
  cloudFront.failure = undefined;
  meanwhile = () => {};
});

afterAll(async () => {
  await lambda.close();
  await withoutCdn.close();
  cloudFront.close();
});

const messageOf = (messageId: string, body: unknown) => ({ messageId, body: JSON.stringify(body) });
const removed = (messageId: string, name: string) => messageOf(messageId, { detail: { object: { key: name } } });
const bring = (...Records: object[]) => lambda.invoke("ops-invalidate-images", { Records });
const sample = async (): Promise<{ Records: { messageId: string; body: string }[] }> =>
  JSON.parse(await readFile(join(import.meta.dirname, "../../../events/ops/invalidate-images.json"), "utf8"));

describe("ops-invalidate-images", () => {
  it("invalidates the path of the removed object, and no other", async () => {
    const { Records } = await sample();

    expect(await bring(...Records)).toEqual({ result: { batchItemFailures: [] } });

    expect(cloudFront.requests).toEqual([
      {
        path: `POST /2020-05-31/distribution/${distribution}/invalidation`,
        authorization: expect.stringContaining("/cloudfront/aws4_request"),
        reference: expect.stringMatching(/^\w{64}$/),
        items: ["/avatars/3f1c2f4e-7a55-4a53-9d0e-4d7c9a2b6c11.webp"],
        accepted: true,
      },
    ]);
  });

  it("invalidates both folders when more than fifty images are removed, since each path is paid for", async () => {
    const paths = (count: number) =>
      Array.from({ length: count }, (_, n) => removed(`m${n}`, `${n % 2 ? "profiles" : "avatars"}/${n}.webp`));
    await bring(...paths(100));
    await bring(...paths(101));

    expect(cloudFront.requests.map(({ items }) => items.length)).toEqual([100, 2]);
    expect(cloudFront.requests[1]?.items).toEqual(["/avatars/*", "/profiles/*"]);
  });

  it("sends the same CallerReference for the same messages, and another for others", async () => {
    const [one, two] = [removed("one", "avatars/a.webp"), removed("two", "avatars/a.webp")];

    for (const each of [[one, two], [two, one], [one]]) await bring(...each);

    expect(cloudFront.requests.map(({ items }) => items)).toEqual(Array(3).fill(["/avatars/a.webp"]));
    const [first, second, third] = cloudFront.requests.map(({ reference }) => reference);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it("sends a request again at once when the connection is lost", async () => {
    cloudFront.failure = "lost";
    meanwhile = () => {
      cloudFront.failure = undefined;
    };

    expect(await bring(removed("kept", "avatars/a.webp"))).toEqual({ result: { batchItemFailures: [] } });

    expect(new Set(cloudFront.requests.map(({ reference }) => reference)).size).toBe(1);
  });

  it("encodes keys like browsers, and stars, too", async () => {
    await bring(removed("one", "avatars/a b&é*"));

    expect(cloudFront.requests[0]?.items).toEqual(["/avatars/a%20b%26%C3%A9%2A"]);
  });

  it.each([
    { status: 400, code: "TooManyInvalidationsInProgress" },
    { status: 503, code: "ServiceUnavailable" },
    { status: 403, code: "AccessDenied" },
  ])("fails for the queue to bring all again when CloudFront returns $code", async (result) => {
    cloudFront.failure = result;

    expect(await bring(removed("one", "avatars/a.webp"))).toMatchObject({ error: { errorType: result.code } });

    cloudFront.failure = undefined;
    expect(await bring(removed("one", "avatars/a.webp"))).toEqual({ result: { batchItemFailures: [] } });
  });

  it.each(["no JSON", "null", '{"detail":{"object":{}}}', '{"detail":{"object":{"key":""}}}'])(
    "gives back a message that says %s, and does what the others say",
    async (body) => {
      const result = await bring({ messageId: "odd", body }, removed("one", "avatars/a.webp"));

      expect(result).toEqual({ result: { batchItemFailures: [{ itemIdentifier: "odd" }] } });
      expect(cloudFront.requests.map(({ items }) => items)).toEqual([["/avatars/a.webp"]]);
    },
  );

  it("does nothing without a CDN", async () => {
    expect(await withoutCdn.invoke("ops-invalidate-images", await sample())).toEqual({
      result: { batchItemFailures: [] },
    });
    expect(cloudFront.requests).toEqual([]);
  });
});
