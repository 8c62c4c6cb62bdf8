import { invoke } from "./invoke.ts";
import type { Stack } from "./stack.ts";

/** The result of an operators' function, whatever its shape. */
// biome-ignore lint/suspicious/noExplicitAny: tests read results of every shape
export const operate = (stack: Pick<Stack, "lambda">, name: string, payload: object = {}): Promise<any> =>
  invoke(stack, name, payload);
