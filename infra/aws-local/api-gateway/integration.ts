import type { Readable } from "node:stream";
import type { GatewayResponseType } from "../../api/gateway-responses.ts";
import type { Lambda, StreamedInvocation } from "../lambda/lambda.ts";
import type { FunctionError } from "../lambda/messages.ts";
import { printLog } from "../log.ts";
import { headOf, type ProxyResult, type ResultHead, resultOf } from "./proxy-result.ts";

/** The gateway itself answers the request, with one of its response types. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly type: GatewayResponseType;

  constructor(type: GatewayResponseType) {
    super(type);
    this.type = type;
  }
}

/** The function's code does not build; on AWS it would not have been deployed. */
export class BuildError extends Error {
  override readonly name = "BuildError";
}

/** The error for a function that has failed; the runtime has logged the reason. */
const errorOf = ({ errorType, errorMessage }: FunctionError) =>
  errorType === "BuildFailure" ? new BuildError(errorMessage) : new GatewayError("INTEGRATION_FAILURE");

/**
 * Lambda proxy integration with ResponseTransferMode BUFFERED.
 * @throws {GatewayError}
 */
export async function buffered(
  lambda: Lambda,
  name: string,
  event: unknown,
  milliseconds: number,
): Promise<ProxyResult> {
  const invocation = await inTime(lambda.invoke(name, event), milliseconds);
  if ("error" in invocation) throw errorOf(invocation.error);
  return resultOf(invocation.result) ?? malformed(name);
}

/**
 * Lambda proxy integration with ResponseTransferMode STREAM; settles when the head has arrived.
 * @throws {GatewayError}
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
  if ("error" in invocation) throw errorOf(invocation.error);
  const head = headOf(invocation.head);
  if (head) return { head, body: invocation.body };
  abandon(invocation);
  return malformed(name);
}

function abandon(invocation: StreamedInvocation): void {
  if ("body" in invocation) invocation.body.destroy();
}

function malformed(name: string): never {
  printLog("error", JSON.stringify({ level: "error", function: name, message: "Malformed Lambda proxy response" }));
  throw new GatewayError("DEFAULT_5XX");
}

async function inTime<Outcome>(work: Promise<Outcome>, milliseconds: number): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new GatewayError("INTEGRATION_TIMEOUT")), milliseconds);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
