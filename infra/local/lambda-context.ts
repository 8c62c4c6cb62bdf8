import { randomUUID } from "node:crypto";
import type { Context } from "aws-lambda";
import { named } from "./lambda-stream.ts";

/** What a handler learns of its invocation. Its callbacks left Lambda with Node.js 24. */
export type InvocationContext = Omit<Context, "done" | "fail" | "succeed">;

export function contextOf(functionName: string, timeoutInMilliseconds: number): InvocationContext {
  const deadline = Date.now() + timeoutInMilliseconds;
  const region = process.env.AWS_REGION ?? "us-east-1";
  return {
    awsRequestId: randomUUID(),
    callbackWaitsForEmptyEventLoop: true,
    functionName,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:${region}:123456789012:function:${functionName}`,
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: "local",
    memoryLimitInMB: "1024",
    getRemainingTimeInMillis: () => deadline - Date.now(),
  };
}

/**
 * Fails, in Lambda's words, when the work takes longer than its context says. Nothing can stop work within this
 * process; what it gives later is dropped.
 */
export async function inTime(work: unknown, context: InvocationContext): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const milliseconds = context.getRemainingTimeInMillis();
  const late = new Promise<never>((_, reject) => {
    const message = `Task timed out after ${(milliseconds / 1000).toFixed(2)} seconds`;
    timer = setTimeout(() => {
      reject(named("Sandbox.Timedout", `RequestId: ${context.awsRequestId} Error: ${message}`));
    }, milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
