import * as z from "zod/mini";

/** What an endpoint's function returns to API Gateway; its body is a text. */
const responseSchema = z.object({
  statusCode: z.int(),
  headers: z._default(z.record(z.string(), z.string()), {}),
  body: z.string(),
});

/** Lambda, "Set up a Lambda proxy integration with payload response streaming". */
const delimiter = "\0".repeat(8);

/**
 * Reads the result of an invocation. When a function streams, Lambda's Invoke API returns the head as JSON, eight NULs,
 * and the body; the one on this machine returns one object, as of other functions.
 */
export function lambdaResponse(payload: Uint8Array) {
  const [head = "", ...pieces] = Buffer.from(payload).toString().split(delimiter);
  const streamed = pieces.length === 0 ? {} : { body: pieces.join(delimiter) };
  try {
    const { statusCode: status, headers, body: text } = responseSchema.parse({ ...JSON.parse(head), ...streamed });
    return { status, headers, text };
  } catch (cause) {
    throw new Error(`No response for API Gateway: ${head.slice(0, 200)}`, { cause });
  }
}
