import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { newKey, signRequest, verifier } from "./signature.ts";

const key = newKey();
const url = new URL("http://127.0.0.1:1/2015-03-31/functions/arn%3Aa/invocations?b=2&a=x%20y&c");
const body = Buffer.from("{}");
const sign = () => signRequest("lambda", key, url, "POST", body);

/** The error of a request with these headers. */
function errorOf(headers: object, by = key): string | undefined {
  const request = Object.assign(new IncomingMessage(new Socket()), {
    method: "POST",
    url: url.pathname + url.search,
    headers: { host: url.host, ...headers },
  });
  return verifier("lambda", by)(request, body);
}

afterEach(() => void vi.useRealTimers());

describe("verifier", () => {
  it("accepts what is signed, for 15 minutes", () => {
    const headers = sign();

    expect(errorOf({ ...headers, "user-agent": "not signed" })).toBe(undefined);
    for (const [minutes, error] of [
      [14, undefined],
      [16, "time"],
      [-16, "time"],
    ] as const) {
      vi.useFakeTimers({ now: Date.now() + minutes * 60_000, toFake: ["Date"] });
      expect(errorOf(headers)).toBe(error);
      vi.useRealTimers();
    }
  });

  it("needs the host and a date to be signed", () => {
    const { authorization, ...others } = sign();

    expect(errorOf({ ...others, authorization: authorization?.replace("host;", "") })).toBe("signature");
    expect(errorOf({ ...others, authorization, host: "localhost:2" })).toBe("signature");
    expect(errorOf({ ...others, authorization, "x-amz-date": "now" })).toBe("time");
  });

  it("accepts clients that do not send their body's hash, as Python's", () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 10, 22), toFake: ["Date"] });
    // By botocore 1.43.11.
    const authorization =
      "AWS4-HMAC-SHA256 Credential=LOCAL/20261122/eu-central-1/lambda/aws4_request, SignedHeaders=host;x-amz-date, " +
      "Signature=f9fac85a7ddc7e0876ebc10b6887ebb2c0fc69d9960b4fef493663e031618824";
    const headers = { authorization, "x-amz-date": "20261122T000000Z" };

    expect(errorOf(headers, { accessKeyId: "LOCAL", secretAccessKey: "secret" })).toBe(undefined);
  });
});
