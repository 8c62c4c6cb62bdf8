import { type S3Options, startS3 as start } from "../s3/server.ts";

/* An S3 whose requests tests see, and break. */

/**
 * A fault that a test injects: a 500 (`error`), a 403 (`refuse`) or a broken connection (`drop`), before the request is
 * served or after it, which the caller cannot tell apart. Or the XML to respond with instead of the store.
 */
type S3Fault = `${"error" | "refuse" | "drop"}-${"before" | "after"}` | { readonly xml: string };

export type S3 = Awaited<ReturnType<typeof startS3>>;

type FaultOf = (request: string) => S3Fault | undefined | Promise<S3Fault | undefined>;

const requestsMax = 10_000;

export async function startS3(options: S3Options) {
  /** The requests received since the start or since this was last emptied, as `PUT /images/avatars/….webp`. */
  const requests: string[] = [];
  let faultOf: FaultOf | undefined;
  const s3 = await start({
    ...options,
    async serve(request, serve) {
      if (requests.push(request) > requestsMax) requests.shift();
      const fault = await faultOf?.(request);
      if (!fault) return await serve();
      if (typeof fault === "object") return { status: 200, body: fault.xml };
      if (fault.endsWith("-after")) await serve();
      return fault.startsWith("drop") ? undefined : { status: fault.startsWith("error") ? 500 : 403 };
    },
  });
  return {
    ...s3,
    requests,
    /** Sets the function that chooses the fault of each request. */
    intercept(next: FaultOf | undefined) {
      faultOf = next;
    },
  };
}
