import * as z from "zod/mini";

/** What an endpoint's function returns to API Gateway. */
const head = z.object({
  statusCode: z.int(),
  headers: z._default(z.record(z.string(), z.string()), {}),
});
const buffered = z.extend(head, { body: z.string(), isBase64Encoded: z.optional(z.boolean()) });

/** Lambda, "Set up a Lambda proxy integration with payload response streaming". */
const delimiter = Buffer.alloc(8);

/**
 * Reads the result of an invocation. When a function streams, Lambda's Invoke API returns the head as JSON, eight NULs,
 * and the body; the one on this machine returns one object, as of other functions.
 */
export function lambdaResponse(payload: Uint8Array) {
  const bytes = Buffer.from(payload);
  const end = bytes.indexOf(delimiter);
  if (end >= 0) {
    const { statusCode: status, headers } = read(head, bytes.toString("utf8", 0, end));
    return { status, headers, text: bytes.toString("utf8", end + delimiter.length) };
  }
  const { statusCode: status, headers, body, isBase64Encoded } = read(buffered, bytes.toString());
  return { status, headers, text: isBase64Encoded ? Buffer.from(body, "base64").toString() : body };
}

function read<S extends z.ZodMiniType>(schema: S, text: string): z.output<S> {
  try {
    return z.parse(schema, JSON.parse(text));
  } catch (cause) {
    throw new Error(`No response for API Gateway: ${text.slice(0, 200)}`, { cause });
  }
}
