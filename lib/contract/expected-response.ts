import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { type Declaration, isNavigation, needsCaller } from "./declare.ts";
import { messageOf } from "./errors.ts";
import { responseSchema } from "./response-schema.ts";

/** The statuses with which an endpoint may respond to its sample. A stage may not have the requested record. */
export function expectedStatuses(declaration: Declaration, hasSession: boolean): readonly number[] {
  // No provider has to be there for a release, and no browser returns from one without a cookie.
  if (isNavigation(declaration)) return declaration.query ? [302, 503] : [400];
  if (needsCaller(declaration) && !hasSession) return [401];
  return 404 in declaration.errors ? [200, 404] : [200];
}

/**
 * The final response to a request: it is sent again after a 503 with `Retry-After`, as long as that comes before the
 * deadline.
 */
export async function finalResponse<Response extends { readonly status: number; readonly headers: Headers }>(
  send: () => Promise<Response>,
  deadline: number,
): Promise<Response> {
  for (;;) {
    const response = await send();
    const pause = 1_000 * Number(response.headers.get("Retry-After") ?? 0);
    if (response.status !== 503 || pause === 0 || performance.now() + pause >= deadline) return response;
    await sleep(pause);
  }
}

const shownMax = 200;

/** What is wrong with a response, if anything. */
export function problemOf(
  declaration: Declaration,
  { status, text }: { readonly status: number; readonly text: string },
  expected: readonly number[],
): string | undefined {
  if (!expected.includes(status)) return `${status} ${text.slice(0, shownMax)}`;
  if (isNavigation(declaration)) return undefined;
  const schema =
    status === 200
      ? responseSchema(declaration)
      : z.strictObject({ data: z.literal(messageOf(declaration, status)), code: z.literal(status) });
  try {
    const [issue] = z.safeParse(schema, JSON.parse(text)).error?.issues ?? [];
    return issue && `not as declared: ${issue.path.join(".")} ${issue.message}`;
  } catch {
    return `no JSON: ${text.slice(0, shownMax)}`;
  }
}
