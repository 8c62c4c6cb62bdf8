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
  const lines = createInterface({ input, output });
  const reply = await new Promise<string>((resolve) => {
    lines.once("close", () => resolve(""));
    lines.question(`${visible(question)} [y/N] `, resolve);
  });
  lines.close();
  return /^y(es)?$/i.test(reply.trim());
}
