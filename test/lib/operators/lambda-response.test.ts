import { describe, expect, it } from "vitest";
import { lambdaResponse } from "../../../lib/operators/lambda-response.ts";

describe("The response in an invocation's result", () => {
  it.each([
    ["an object", '{"statusCode":200,"headers":{"ETag":"x"},"body":"[]"}'],
    ["an object with a coded body", '{"statusCode":200,"headers":{"ETag":"x"},"body":"W10=","isBase64Encoded":true}'],
    ["a stream", `{"statusCode":200,"headers":{"ETag":"x"}}${"\0".repeat(8)}[]`],
  ])("is read from %s", (_, payload) => {
    expect(lambdaResponse(Buffer.from(payload))).toEqual({ status: 200, headers: { ETag: "x" }, text: "[]" });
  });

  it.each(["null", "", '{"statusCode":200}', `oops${"\0".repeat(8)}[]`])("is missing in %j", (payload) => {
    expect(() => lambdaResponse(Buffer.from(payload))).toThrow("No response for API Gateway");
  });
});
