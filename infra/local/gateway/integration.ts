import type { Readable } from "node:stream";
import type { GatewayResponseType } from "../../gateway-responses.ts";
import type { Lambda, StreamedInvocation } from "../lambda/lambda.ts";
import type { FunctionError } from "../lambda/messages.ts";
import { headOf, type ProxyResult, type ResultHead, resultOf } from "./proxy-result.ts";

/** The gateway answers by itself, with one of its response types. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly type: GatewayResponseType;

  constructor(type: GatewayResponseType) {
    super(type);
    this.type = type;
  }
}

/** The function's code is broken; on AWS it would not have been deployed. */
export class Unbuilt extends Error {
  override readonly name = "Unbuilt";
}

/** What the gateway makes of a function that has failed; the runtime has logged why. */
const failed = ({ errorType, errorMessage }: FunctionError) =>
  errorType === "BuildFailure" ? new Unbuilt(errorMessage) : new Refusal("INTEGRATION_FAILURE");

/**
 * Lambda proxy integration with ResponseTransferMode BUFFERED.
 * @throws {Refusal}
 */
export async function buffered(
  lambda: Lambda,
  name: string,
  event: unknown,
  milliseconds: number,
): Promise<ProxyResult> {
  const invocation = await inTime(lambda.invoke(name, event), milliseconds);
  if ("error" in invocation) throw failed(invocation.error);
  return resultOf(invocation.result) ?? malformed(name);
}

/**
 * Lambda proxy integration with ResponseTransferMode STREAM; settles when the head is there.
 * @throws {Refusal}
 */
export async function streamed(
  lambda: Lambda,
  name: string,
  event: unknown,
  milliseconds: number,
): Promise<{ readonly head: ResultHead; readonly body: Readable }> {
  const work = lambda.stream(name, event);
  const invocation = await inTime(work, milliseconds).catch((error: unknown) => {
    work.then(abandon, () => {});
    throw error;
  });
  if ("error" in invocation) throw failed(invocation.error);
  const head = headOf(invocation.head);
  if (head) return { head, body: invocation.body };
  abandon(invocation);
  return malformed(name);
}

function abandon(invocation: StreamedInvocation): void {
  if ("body" in invocation) invocation.body.destroy();
}

function malformed(name: string): never {
  console.error(JSON.stringify({ level: "error", function: name, message: "Malformed Lambda proxy response" }));
  throw new Refusal("DEFAULT_5XX");
}

async function inTime<Outcome>(work: Promise<Outcome>, milliseconds: number): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Refusal("INTEGRATION_TIMEOUT")), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
