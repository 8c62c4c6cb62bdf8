import { readFile } from "node:fs/promises";

/**
 * A session's refresh token. Other users of the machine can see the arguments of a process, so the token is not an
 * argument.
 * @param source an environment variable, or else a file, that has it
 */
export async function tokenFrom(source: string): Promise<string> {
  const token = (process.env[source] ?? (await readFile(source, "utf8").catch(() => ""))).trim();
  if (token === "") throw new Error(`Neither an environment variable nor a file ${source} contains a token`);
  return token;
}
