import { type SmokeResult, smoke } from "../../lib/operators/smoke/smoke.ts";
import { messageOf, newCommand, runCommand, UsageError } from "../command/command.ts";
import { print } from "../command/print.ts";
import { tokenFrom } from "../command/token.ts";
import { doorOf } from "../operate/door.ts";
import { stageNamed } from "../operate/stage.ts";
import { settings } from "../settings/settings.ts";
import { smokeRequests } from "./requests.ts";
import { unconfirmedMails } from "./unconfirmed-mails.ts";

export const command = newCommand("npm run smoke")
  .description("Sends each endpoint a request that changes nothing, and compares the responses with the declarations.")
  .argument("[url]", "may be left out for a stage with an edge: requests go to the API behind it, with its key")
  .option(
    "--stage <name>",
    "expect the contributor whom the database of this stage must have (infra/stages.ts), and name the mail " +
      "subscriptions of its alarms that nobody has confirmed",
  )
  .option(
    "--token-from <source>",
    "environment variable, or else file, with the refresh token of a session with which administrative requests are " +
      "sent; without it they must be 401",
  );

/**
 * Sends all sample events that change nothing to a running stage, and compares the responses with their
 * declarations.
 * @param stage expects the contributor whom its database must have
 * @param tokenSource an environment variable, or else a file, that has a refresh token
 */
export async function smokeTest(
  address: string | undefined,
  { stage, tokenSource }: { readonly stage?: string | undefined; readonly tokenSource?: string | undefined } = {},
): Promise<{ readonly report: string; readonly isFine: boolean }> {
  const { url, key } = await targetOf(address, stage);
  if (!URL.canParse(url)) throw new UsageError(`${url} is no URL`);
  const token = tokenSource === undefined ? undefined : await tokenFrom(tokenSource);
  if (token !== undefined && !isPrivate(new URL(url))) throw new Error("A token is sent only by https");
  const database = stage === undefined ? undefined : stageNamed(stage).database;
  const { knownContributor } = settings.databases.find(({ name }) => name === database) ?? {};
  const results = await smoke(url, smokeRequests("all", knownContributor), { token, key });
  return { report: reportOf(results), isFine: results.every(({ problem }) => problem === undefined) };
}

async function targetOf(url: string | undefined, stage: string | undefined): Promise<{ url: string; key?: string }> {
  if (url !== undefined) return { url };
  const door = stage === undefined ? undefined : await doorOf(stage);
  if (!door) throw new UsageError("URL is missing: only a stage with an edge has a secret that says it");
  return door;
}

const isPrivate = ({ protocol, hostname }: URL) =>
  protocol === "https:" || ["localhost", "127.0.0.1", "[::1]"].includes(hostname);

function reportOf(results: readonly SmokeResult[]): string {
  const lines = results.map(({ endpoint, status, expected, milliseconds, problem }) =>
    [
      endpoint.padEnd(30),
      status ?? "none",
      expected.join(" or ").padEnd(10),
      `${milliseconds} ms`.padStart(8),
      problem ?? "as declared",
    ].join("  "),
  );
  const wrong = results.filter(({ problem }) => problem !== undefined).length;
  const sum = `${results.length} requests, ${wrong === 0 ? "all as declared" : `${wrong} not as declared`}`;
  return [...lines, "", sum].join("\n");
}

if (import.meta.main) {
  await runCommand(
    command.action(async (url, { stage, tokenFrom: tokenSource }) => {
      const { report, isFine } = await smokeTest(url, { stage, tokenSource });
      print(report);
      if (stage !== undefined) {
        const mails = await unconfirmedMails(stage).catch((error) => [
          `Whether all mails of alarms are confirmed is unknown: ${messageOf(error)}`,
        ]);
        for (const sentence of mails) print(sentence);
      }
      process.exitCode = isFine ? 0 : 1;
    }),
  );
}
