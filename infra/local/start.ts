import { access, constants, mkdir } from "node:fs/promises";
import inspector from "node:inspector";
import module from "node:module";
import { resolve } from "node:path";
import { Option } from "@commander-js/extra-typings";
import { isOrigin } from "../../lib/http/origins.ts";
import { compileCache, moveUnwritableCache } from "../build/cached-folder.ts";
import { messageOf, newCommand, runCommand, UsageError } from "../command/command.ts";
import { confirm } from "../command/confirm.ts";
import { print } from "../command/print.ts";
import { localDirectory } from "./credentials.ts";
import { databaseUrlFrom } from "./database-url.ts";
import type { LocalService } from "./service.ts";

const defaultPort = "3000";

export const command = newCommand("npm start")
  .description("Starts the service on this machine, with demo data.")
  .option("--port <number>", "the port", defaultPort)
  .addOption(new Option("--data <directory>", "the directory of all data").default(localDirectory, ".local"))
  .option(
    "--database <url>",
    "a PostgreSQL 18 to use instead of the embedded one; a URL with a password goes into COLOPHON_DATABASE_URL, which " +
      "lists of processes do not show",
  )
  .option("--create", "create that database if it does not exist, without asking")
  .option("--origin <url...>", "allow pages of this origin, too, to call administrative endpoints")
  .option("--panel <url>", "the page of a panel where people arrive who have signed in; default: /docs")
  .option("--no-uploads", "without a file service")
  .option("--empty", "without the demo data")
  .option("--scale <number>", "add so many made-up contributors, with series and publishers", "0")
  .addOption(new Option("--inspect [port]", "let a debugger attach, as Node.js does").preset("9229"))
  .option(
    "--set-passwords",
    "set the passwords of the service's roles, even if another service of the server uses them",
  );

function originsOf(origins: readonly string[]): readonly string[] {
  const other = origins.find((each) => !isOrigin(each));
  if (other === undefined) return origins;
  throw new UsageError(`--origin takes an origin as browsers write it, like http://localhost:4200, not ${other}`);
}

function panelOf(panel: string | undefined): string | undefined {
  if (panel === undefined || /^https?:$/.test(URL.parse(panel)?.protocol ?? "")) return panel;
  throw new UsageError(`--panel takes the URL of a page, like http://localhost:5173/, not ${panel}`);
}

function numberOf(name: string, text: string, min: number, max: number): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new UsageError(`--${name} takes a number from ${min} to ${max}, not ${text}`);
}

/** A flag of ours, since with NODE_OPTIONS npm itself would take the port. */
function openInspector(port: number): void {
  inspector.open(port, "127.0.0.1");
  if (!inspector.url()) throw new Error(`Port ${port} is taken; try npm start -- --inspect=${port + 1}`);
}

let end = async (code: number): Promise<void> => process.exit(code);

function onExit(reason: string): void {
  console.error(reason);
  void end(1);
}

function stopOnSignals(service: LocalService): void {
  end = async (code) => {
    end = async () => {};
    console.log("Stopping");
    await service.close().catch((error: unknown) => console.error(messageOf(error)));
    process.exit(code);
  };
  const stop = () => void end(0);
  process.once("SIGINT", stop).once("SIGTERM", stop);
}

/** @throws if this user cannot write to the directory of all data */
async function openDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true });
    await access(directory, constants.W_OK);
  } catch (cause) {
    throw new Error(`${messageOf(cause)}. Name another directory for the data: npm start -- --data DIR`, { cause });
  }
}

/** What commands need to find the service. */
function whereabouts(url: string, directory: string): string {
  const flags = [
    ...(new URL(url).port === defaultPort ? [] : [`--url ${url}`]),
    ...(resolve(directory) === localDirectory ? [] : [`--data '${resolve(directory)}'`]),
  ];
  return flags.length > 0 ? ` -- NAME ${flags.join(" ")}` : "";
}

function welcome({ url, users }: LocalService, directory: string): string {
  const tokens = users.map(({ token, description }) => `\n    ${token.padEnd(22)}${description}`);
  const none = "\n    none yet; npm run invoke -- ops/create-user, then ops/issue-refresh-token, makes one";
  const forUsers = `
    curl '${url}/contributor/slug/ursula-k-le-guin'
    curl --cookie refreshToken=local-administrator '${url}/admin-users?limit=3'`;
  return `
Colophon listens on ${url}
and shows its interface on ${url}/docs

  Sign in: ${url}/sign-in

  Tokens, for this machine only; the next start renews one that was signed out:${tokens.join("") || none}

  Functions are invoked by npm run invoke${whereabouts(url, directory)}, or by the AWS CLI with
    AWS_SHARED_CREDENTIALS_FILE=${resolve(directory, "credentials")}

  Try:
    curl '${url}/contributors?client=1&limit=3'${users.length > 0 ? forUsers : ""}
`;
}

if (import.meta.main) {
  await runCommand(
    command.action(async (values) => {
      const options = {
        port: numberOf("port", values.port, 1, 65_535),
        directory: values.data,
        databaseUrl: databaseUrlFrom(values.database),
        mayCreate: async (name: string) =>
          values.create ?? (await confirm(`There is no database ${name} yet. Create it?`)),
        origins: originsOf(values.origin ?? []),
        panel: panelOf(values.panel),
        uploads: values.uploads,
        empty: values.empty ?? false,
        scale: numberOf("scale", values.scale, 0, 5_000_000),
        setPasswords: values.setPasswords ?? false,
        report: print,
        onExit,
      };
      const { inspect } = values;
      // Before the service is loaded, which looks whether a debugger can attach.
      if (inspect !== undefined) openInspector(numberOf("inspect", inspect, 0, 65_535));
      await openDirectory(values.data);
      await moveUnwritableCache(resolve(values.data, "cache"));
      // Node keeps what it compiles, types stripped, for its threads and for the next start.
      process.env.NODE_COMPILE_CACHE ??= compileCache();
      module.enableCompileCache?.();
      const { startService } = await import("./service.ts");
      const service = await startService(options);
      stopOnSignals(service);
      console.log(welcome(service, values.data));
    }),
  );
}
