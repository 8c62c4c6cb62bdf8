import { createInterface } from "node:readline";
import { visible } from "./print.ts";

interface Terminal {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WritableStream;
}

/** Asks the person at the terminal. Without a terminal or a response, the result is false. */
export async function confirm(
  question: string,
  { input, output }: Terminal = { input: process.stdin, output: process.stdout },
): Promise<boolean> {
  if (!input.isTTY) return false;
  output.write(`${visible(question)} [y/N] `);
  for await (const reply of createInterface({ input })) return /^y(es)?$/i.test(reply.trim());
  return false;
}
