import { execFile, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { CommanderError, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { describe, expect, it } from "vitest";
import { bundleOf } from "../../infra/api/whole-lists.ts";
import { cachedFolder } from "../../infra/build/cached-folder.ts";
import { UsageError } from "../../infra/command/command.ts";
import { eventOf, functionPathOf } from "../../infra/command/event.ts";
import { command as invokeCommand } from "../../infra/operate/invoke.ts";
import { stageNamed } from "../../infra/operate/stage.ts";
import { settings } from "../../infra/settings/settings.ts";
import manifest from "../../package.json" with { type: "json" };
import { recordShell } from "../support/shell-recorder.ts";
import { functions, stacks, synthesis } from "./stacks/synthesis.ts";

/** What operators read: the README, and the pages beside it. */
const names = ["README", "first-day", "costs", "edge", "pipeline", "restore", "sign-in", "take-downs"];
const pages = await Promise.all(names.map((name) => readFile(`infra/${name}.md`, "utf8")));
const readme = pages.join("\n");

/** The sections with commands: heading, and all commands as one script. */
const sections = pages
  .flatMap((page) => page.split(/^(?=#{1,3} )/m))
  .map((section) => [section.slice(0, section.indexOf("\n")), scriptOf(section)] as const)
  .filter(([, script]) => script !== "");

/** The indented blocks, those of a list's item by two or three columns more, and our commands between backticks. */
function scriptOf(section: string): string {
  const blocks = section.split(/\n{2,}/).filter((block) => /^ {4,}\S/.test(block));
  const inline = [...section.matchAll(/`(npm [^`]+)`/g)].map(([, command = ""]) => command);
  return [...blocks.map((block) => block.replace(/^ {4,7}(?=\S)/, "")), ...inline].join("\n");
}

/* What readers set by themselves: the output `Url` without its slash, a session's token, a pool of users and its client. */
const variables = { URL: "https://api.example.com", TOKEN: "token", POOL: "eu-central-1_a", CLIENT: "1a2b" };

const recorded = sections.map(async ([heading, script]) => [heading, await recordShell(script, variables)] as const);
const recordings = new Map(await Promise.all(recorded));
const commands = [...recordings.values()].flatMap((each) => each.commands);

/** The words behind these, wherever a command has them. */
const wordsAfter = (...begin: string[]): string[][] =>
  commands.filter((words) => begin.every((word, at) => words[at] === word)).map((words) => words.slice(begin.length));

/** Calls of this project's commands: name, and the words behind it. */
const ownCalls = wordsAfter("npm").flatMap(([first = "", ...rest]) => {
  const [name = "", separator = "--", ...words] =
    first === "run" ? rest.filter((each) => each !== "-s") : [first, ...rest];
  expect(separator, name).toBe("--");
  return ["ci", "test", "deploy"].includes(name) ? [] : [{ name, words }];
});

describe("The operators' README", () => {
  it("has at most 500 lines", () => {
    expect(pages[0]?.split("\n").length).toBeLessThanOrEqual(501);
  });

  it.each(sections)("has commands for bash, with the variables that they need: %s", (heading) => {
    expect(recordings.get(heading)?.complaint).toBe("");
  });

  it("calls programs that are prerequisites, or on every machine", () => {
    const prerequisites = ["npm", "npx", "git", "aws", "jq"];
    const everywhere = ["awk", "curl", "cut", "date", "head", "sleep", "sort", "zcat"];

    expect(new Set(commands.map(([program]) => program))).toEqual(new Set([...prerequisites, ...everywhere]));
  });

  it("calls this project's commands with words that they understand, and stages that there are", async () => {
    const problems = await Promise.all(ownCalls.map(problemOf));

    expect(problems.flatMap((each) => each ?? [])).toEqual([]);
    expect(problems.length).toBeGreaterThan(15);
  });

  it("invokes functions with what they accept", async () => {
    const calls = ownCalls.filter(({ name, words }) => name === "invoke" && words.length > 0);
    for (const { words } of calls) {
      const [given = "", payload] = parse(invokeCommand, words).args;
      await eventOf(functionPathOf(given), payload);
    }

    expect(calls.length).toBeGreaterThan(8);
  });

  it("calls the CDK with commands and flags that it has, and with stacks of the settings", async () => {
    const own = new Set(["--untried"]);
    const deployments = wordsAfter("npm", "run", "deploy", "--").map((words) => [
      "deploy",
      ...words.filter((word) => !own.has(word)),
    ]);
    const calls = [...wordsAfter("npx", "cdk"), ...deployments];
    const names = [...new Set(calls.map(([name = ""]) => name))].sort();
    const flags = new Map(await Promise.all(names.map(flagsOfCdk)));
    const known = [...stacks, "colophon-pipeline"];
    const isStack = (word: string) => known.some((each) => each === word || each.startsWith(word.replace(/\*$/, "")));
    const unknown = calls.flatMap(([name = "", ...words]) =>
      words.filter((word, at) => {
        if (word.startsWith("-")) return !flags.get(name)?.has(word);
        return !flags.get(name)?.get(words[at - 1] ?? "") && !isStack(word);
      }),
    );

    expect(unknown).toEqual([]);
    expect(names).toEqual(["bootstrap", "deploy", "destroy", "diff"]);
  });

  it.skipIf(spawnSync("python3", ["--version"]).status !== 0)("calls AWS as its CLI permits", async () => {
    const calls = wordsAfter("aws");
    const problems = await problemsOfAws(calls);

    expect(calls.flatMap((words, at) => (problems[at] ? [[words.join(" "), problems[at]]] : []))).toEqual([]);
    expect(calls.length).toBeGreaterThan(30);
  });

  const all = (pattern: RegExp): string[] => [...new Set(readme.match(pattern))];
  const templates = stacks.map(synthesis.template);
  const named = (type: string, property: string): string[] =>
    templates.flatMap(({ each }) => each(type).map((its) => its[property]));
  const outputsOf = (names: readonly string[]) =>
    names.flatMap((each) => Object.keys(synthesis.template(each).Outputs));

  it("names files that are there", () => {
    const files = all(/\b(?:events|functions|infra|lib|test)\/[\w./-]*\w/g);

    expect(files.filter((each) => !existsSync(each))).toEqual([]);
  });

  it("names stacks, functions, alarms, dashboards and vaults that are there", () => {
    const known = [
      ...stacks,
      "colophon-pipeline",
      ...named("Lambda::Function", "FunctionName"),
      ...named("CloudWatch::Alarm", "AlarmName"),
      ...named("CloudWatch::Dashboard", "DashboardName"),
      ...named("Backup::BackupVault", "BackupVaultName"),
      ...named("S3::Bucket", "BucketName").filter(Boolean),
      // The operator gives this name.
      "colophon-prod-database-copy",
    ];
    const unknown = all(/\bcolophon-[a-z][a-z0-9-]*/g).filter(
      (each) => !known.some((name) => (each.endsWith("-") ? name.startsWith(each) : name === each)),
    );

    expect(unknown).toEqual([]);
  });

  it("names parameters, log groups and outputs that the stacks have", () => {
    const known = new Set([
      ...named("SSM::Parameter", "Name"),
      ...named("Logs::LogGroup", "LogGroupName"),
      ...named("SecretsManager::Secret", "Name"),
      ...outputsOf(stacks),
    ]);

    const used = all(/\/colophon\/[\w/-]+|aws-waf-logs-[\w-]+|(?<=OutputKey==')\w+(?=')/g);
    expect(used.filter((each) => !known.has(each))).toEqual([]);
    expect(used.length).toBeGreaterThan(10);
  });

  it("empties the buckets that go with a protected stack, before it deletes the stack", () => {
    const isProtected = (stack: string) => synthesis.stacks[stack]?.properties.terminationProtection;
    const going = stacks.filter(isProtected).flatMap((stack) =>
      synthesis
        .template(stack)
        .all("S3::Bucket")
        .filter(({ DeletionPolicy }) => DeletionPolicy !== "Retain" && DeletionPolicy !== "RetainExceptOnCreate")
        .map(({ Properties }) => `s3://${Properties.BucketName}`),
    );
    const emptied = wordsAfter("aws", "s3", "rm").map(([bucket = ""]) => bucket);

    expect(going).toEqual(["s3://colophon-prod-transfers-123456789012-eu-central-1"]);
    expect(emptied.map((each) => each.replace(/\d{20}/, "123456789012"))).toEqual(going);
  });

  it("names every alarm, saved query and output", () => {
    const alarms = named("CloudWatch::Alarm", "AlarmName").filter((each) => each.startsWith("colophon-prod"));
    const queries = named("Logs::QueryDefinition", "Name").map((each) => each.replace(/.*\//, ""));
    const outputs = outputsOf(settings.stages.map(({ name }) => `colophon-${name}`));
    const expected = [...alarms, ...queries, ...outputs.filter((each) => !each.startsWith("RestApiEndpoint"))];

    const rows = readme.split("\n").filter((line) => /^ *\|/.test(line));
    expect(expected.filter((each) => !rows.some((row) => row.includes(`\`${each}\``)))).toEqual([]);
  });

  it("makes the name of every function of its path, by which it can be invoked", () => {
    const names = new Set(
      named("Lambda::Function", "FunctionName").map((each) => bundleOf(each.replace(/^colophon-\w+-/, ""))),
    );

    expect([...names].sort()).toEqual(functions.map(({ endpointPath }) => endpointPath.replaceAll("/", "-")).sort());
  });
});

it("The table of limits has the settings of prod", async () => {
  const page = await readFile("lib/contract/README.md", "utf8");
  const { streams, publicRecords, firewall } = settings.stages.find(({ name }) => name === "prod") ?? {};

  for (const limit of [streams?.concurrent, publicRecords?.concurrent, firewall?.requestsPerAddressIn5Minutes])
    expect(page).toContain(`in prod ${limit?.toLocaleString("en")} `);
  expect(page).toContain(`${firewall?.unlimitedListsPerAddressIn5Minutes} of them for lists without a \`limit\``);
});

const scripts: Readonly<Record<string, string>> = manifest.scripts;

/** Parses the words behind a command's name, and does nothing. */
const parse = (command: CommandUnknownOpts, words: readonly string[]) =>
  command
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .parse(words, { from: "user" });

/** What a command of this project does not understand. */
async function problemOf({ name, words }: { name: string; words: string[] }): Promise<string | undefined> {
  const [, file] = / (\S+\.ts)$/.exec(scripts[name] ?? "") ?? [];
  if (file === undefined) return `There is no command ${name}`;
  if (words.length === 0) return undefined;
  const { command } = await import(resolve(file));
  try {
    const { stage } = parse(command, words).opts() as { stage?: string };
    if (stage !== undefined) stageNamed(stage);
    return undefined;
  } catch (error) {
    if (error instanceof UsageError || error instanceof CommanderError)
      return `npm run ${name} -- ${words.join(" ")}: ${error.message}`;
    throw error;
  }
}

/** The flags of a command of the CDK, as it prints them, and whether a value follows. */
async function flagsOfCdk(name: string): Promise<[string, Map<string, boolean>]> {
  const { stdout } = await promisify(execFile)("node_modules/.bin/cdk", [name, "--help"]);
  const flags = stdout.split(/\n +(?=-)/).flatMap((entry) => {
    const hasValue = /\[(?:string|number|array)\]/.test(entry);
    return (entry.match(/(?<=^|, +)--?[a-zA-Z][\w-]*/g) ?? []).map((flag) => [flag, hasValue] as const);
  });
  return [name, new Map(flags)];
}

/** The AWS CLI that comes with the CDK (version 1) parses the commands, and sends nothing. */
async function problemsOfAws(calls: readonly (readonly string[])[]): Promise<readonly (string | null)[]> {
  const layer = "node_modules/@aws-cdk/asset-awscli-v1/lib/layer.zip";
  const unpacked = await cachedFolder("aws-cli", ["package-lock.json"], (folder) =>
    promisify(execFile)("python3", ["-m", "zipfile", "-e", layer, folder]),
  );
  const child = spawn("python3", ["test/infra/aws-cli.py"], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify({ modules: `${unpacked}/awscli`, commands: calls }));
  return JSON.parse(await text(child.stdout));
}
