import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { listenToClients } from "../../infra/aws-local/http/listen.ts";

/**
 * How requests fail: an error of CloudFront's, no response to a request that is not accepted (`broken`), or to one that is
 * (`lost`).
 */
type Failure = { readonly status: number; readonly code: string } | "broken" | "lost";

/** CloudFront's `CreateInvalidation` on this machine, for the real SDK by `AWS_ENDPOINT_URL_CLOUDFRONT`. */
export type CloudFront = Awaited<ReturnType<typeof startCloudFront>>;

/** At most 50 tags an object, each of 1 to 256 visible ASCII characters without commas; paths begin with a slash. */
const validItem = /^(?:#[!-+\--~]{1,256}|\/[!-~]*)$/;

/**
 * Starts it. It responds as its API Reference has it ("CreateInvalidation"): the same reference with the same items is the
 * invalidation that was made before, with other items it is refused.
 * @param onAccepted is called with the items of each new invalidation, before CloudFront returns
 */
export async function startCloudFront(onAccepted: (items: readonly string[]) => unknown = () => {}) {
  const made = new Map<string, string>();
  /** All requests, oldest first; items are paths (`/avatars/*`), and tags (`#contributor-5`). */
  const requests: { path: string; reference: string; items: readonly string[]; accepted: boolean }[] = [];
  /** How requests fail from now on; undefined if they do not. */
  const state = { failure: undefined as Failure | undefined };

  const refusalOf = (reference: string, items: readonly string[]): Failure | undefined => {
    if ((made.get(reference) ?? items.join()) !== items.join())
      return { status: 400, code: "InvalidationBatchAlreadyExists" };
    const isValid = items.length > 0 && items.every((item) => validItem.test(item));
    return isValid ? undefined : { status: 400, code: "InvalidArgument" };
  };

  const server = createServer(async (request, response) => {
    const body = await text(request);
    const reference = /<CallerReference>(.*?)<\/CallerReference>/.exec(body)?.[1] ?? "";
    const items = [...body.matchAll(/<Path>(.*?)<\/Path>/g)].flatMap(([, item]) => item ?? []);
    const { failure } = state;
    const refusal = failure === undefined || failure === "lost" ? refusalOf(reference, items) : failure;
    requests.push({ path: `${request.method} ${request.url}`, reference, items, accepted: refusal === undefined });
    if (refusal === undefined && !made.has(reference)) {
      made.set(reference, items.join());
      await onAccepted(items);
    }
    if (refusal === "broken" || failure === "lost") return void request.socket.destroy();
    response.writeHead(typeof refusal === "object" ? refusal.status : 201, { "Content-Type": "text/xml" });
    response.end(
      typeof refusal === "object"
        ? `<ErrorResponse><Error><Type>Sender</Type><Code>${refusal.code}</Code><Message>No</Message></Error></ErrorResponse>`
        : `<Invalidation><Id>I2J0I21PCUYOIK</Id><Status>InProgress</Status>${body.replace(/^<\?.*?\?>/, "")}</Invalidation>`,
    );
  });
  return Object.assign(state, { requests, ...(await listenToClients(server)) });
}
