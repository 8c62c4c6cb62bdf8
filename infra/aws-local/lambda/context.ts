import type { Context } from "aws-lambda";
import { memoryInMegabytesDefault } from "./settings.ts";

/** What a handler learns of its invocation. Its callbacks left Lambda with Node.js 24. */
export type InvocationContext = Omit<Context, "done" | "fail" | "succeed">;

export function contextOf(
  functionName: string,
  remainingInMilliseconds: number,
  awsRequestId: string = crypto.randomUUID(),
  memoryInMegabytes = memoryInMegabytesDefault,
): InvocationContext {
  const deadline = Date.now() + remainingInMilliseconds;
  const region = process.env.AWS_REGION ?? "us-east-1";
  return {
    awsRequestId,
    callbackWaitsForEmptyEventLoop: true,
    functionName,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:${region}:123456789012:function:${functionName}`,
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: "local",
    memoryLimitInMB: String(memoryInMegabytes),
    getRemainingTimeInMillis: () => deadline - Date.now(),
  };
}
