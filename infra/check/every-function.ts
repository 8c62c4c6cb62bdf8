import { pathToFileURL } from "node:url";
import type { Context } from "aws-lambda";
import { isStreamingHandler, ResponseStream } from "../aws-local/lambda/stream.ts";

interface Invocation {
  /** The function's bundle. */
  readonly file: string;
  readonly event: unknown;
}

/** A function that runs any other one: what all of them load is loaded once. Returns the result, or what was streamed. */
export async function handler({ file, event }: Invocation, context: Context): Promise<unknown> {
  const { handler } = await import(pathToFileURL(file).href);
  if (!isStreamingHandler(handler)) return await handler(event, context);
  let text = "";
  const stream = new ResponseStream(Number.POSITIVE_INFINITY, {
    head() {},
    async wantsMore() {},
    chunk(bytes) {
      text += bytes;
    },
    end() {},
  });
  await handler(event, stream, context);
  return text;
}
