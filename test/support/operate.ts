import type { Stack } from "./stack.ts";

/**
 * The result of an operators' function.
 * @throws with its message if it fails
 */
// biome-ignore lint/suspicious/noExplicitAny: tests read results of every shape
export async function operate({ lambda }: Pick<Stack, "lambda">, name: string, payload: object = {}): Promise<any> {
  const invocation = await lambda.invoke(name, payload);
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  return invocation.result;
}
