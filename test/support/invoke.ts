import type { Lambda } from "../../infra/aws-local/lambda/lambda.ts";

/** Invokes a function. Returns its result, or fails as the function does. */
export async function invoke<Result>(
  { lambda }: { readonly lambda: Pick<Lambda, "invoke"> },
  name: string,
  payload: object,
): Promise<Result> {
  const invocation = await lambda.invoke(name, payload);
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  return invocation.result as Result;
}
