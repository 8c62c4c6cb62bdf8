import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { type SmokeResult, smoke } from "../../lib/operators/smoke.ts";
import { smokeRequests } from "./requests.ts";

const usage =
  "npm run smoke -- URL [--token-from VARIABLE|FILE]\n" +
  "  --token-from  an environment variable, or else a file, that has the refresh token of a session\n" +
  "                with which administrative requests are sent; without it they must be 401";

/**
 * Sends all sample events that change nothing to a running stage, and compares the answers with their
 * declarations.
 */
export async function smokeTest(
  args: readonly string[],
): Promise<{ readonly report: string; readonly isFine: boolean }> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { "token-from": { type: "string" } },
    allowPositionals: true,
  });
  const [given, ...others] = positionals;
  if (given === undefined || others.length > 0 || !URL.canParse(given)) throw new Error(usage);
  const token = values["token-from"] === undefined ? undefined : await tokenFrom(values["token-from"]);
  if (token !== undefined && !isPrivate(new URL(given))) throw new Error("A token is sent only by https");
  const results = await smoke(given, smokeRequests("all"), token);
  return { report: tableOf(results), isFine: results.every(({ problem }) => problem === undefined) };
}

/** Other users of the machine can see the arguments of a process, so the token is not an argument. */
async function tokenFrom(source: string): Promise<string> {
  const token = (process.env[source] ?? (await readFile(source, "utf8").catch(() => ""))).trim();
  if (token === "") throw new Error(`Neither an environment variable nor a file ${source} contains a token`);
  return token;
}

const isPrivate = ({ protocol, hostname }: URL) =>
  protocol === "https:" || ["localhost", "127.0.0.1", "[::1]"].includes(hostname);

function tableOf(results: readonly SmokeResult[]): string {
  const rows = results.map(({ endpoint, status, expected, milliseconds, problem }) => [
    endpoint,
    `${status ?? "none"}`,
    expected.join(" or "),
    `${milliseconds}`,
    problem ?? "as declared",
  ]);
  const table = [["endpoint", "status", "expected", "ms", ""], ...rows];
  const widths = table.reduce<number[]>(
    (widest, row) => row.map((each, at) => Math.max(each.length, widest[at] ?? 0)),
    [],
  );
  const lines = table.map((row) =>
    row
      .map((each, at) => (at === 3 ? each.padStart(widths[at] ?? 0) : each.padEnd(widths[at] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
  const wrong = results.filter(({ problem }) => problem !== undefined).length;
  return `${lines.join("\n")}\n\n${results.length} asked, ${wrong === 0 ? "all as declared" : `${wrong} not as declared`}`;
}

if (import.meta.main) {
  try {
    const { report, isFine } = await smokeTest(process.argv.slice(2));
    console.log(report);
    process.exitCode = isFine ? 0 : 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
