import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parseWords } from "../../infra/command.ts";
import { eventOf, functionPathOf } from "../../infra/event.ts";
import { checkEvent, syntax } from "../../infra/operate/invoke.ts";
import { stageNamed } from "../../infra/operate/stage.ts";
import { settings } from "../../infra/stages.ts";
import manifest from "../../package.json" with { type: "json" };
import { stacks, type Template, useSynthesis } from "./stacks/synthesis.ts";

const root = join(import.meta.dirname, "../..");

let readme: string;
let templates: Template[];

const synthesis = useSynthesis();

beforeAll(async () => {
  readme = await readFile(join(root, "infra/README.md"), "utf8");
  templates = stacks.map((each) => synthesis.template(each));
});

const all = (pattern: RegExp): string[] => [...new Set(readme.match(pattern))];
const named = (type: string, property: string): string[] =>
  templates.flatMap((each) => each.all(type).map(({ Properties }) => Properties[property]));

describe("The operators' README", () => {
  it("names files that are there", () => {
    const files = all(/\b(?:events|functions|infra|lib|test)\/[\w./-]*\w/g);

    expect(files.filter((each) => !existsSync(join(root, each)))).toEqual([]);
    expect(files.length).toBeGreaterThan(10);
  });

  it("names stacks, functions, alarms, dashboards, vaults and state machines that are there", () => {
    const known = [
      ...stacks,
      "colophon-pipeline",
      ...named("Lambda::Function", "FunctionName"),
      ...named("CloudWatch::Alarm", "AlarmName"),
      ...named("CloudWatch::Dashboard", "DashboardName"),
      ...named("Backup::BackupVault", "BackupVaultName"),
      ...named("StepFunctions::StateMachine", "StateMachineName"),
    ];

    const unknown = all(/\bcolophon-[a-z][a-z0-9-]*/g).filter(
      (each) => !known.some((name) => (each.endsWith("-") ? name.startsWith(each) : name === each)),
    );

    expect(unknown).toEqual([]);
  });

  it("names every alarm, saved query and output", () => {
    const alarms = named("CloudWatch::Alarm", "AlarmName").filter((each) => each.startsWith("colophon-prod"));
    const queries = named("Logs::QueryDefinition", "Name").map((each) => each.replace(/.*\//, ""));
    const outputs = settings.stages.flatMap(({ name }) => Object.keys(synthesis.template(`colophon-${name}`).Outputs));
    const expected = [...alarms, ...queries, ...outputs.filter((each) => !each.startsWith("RestApiEndpoint"))];

    expect(expected.filter((each) => !readme.includes(`| \`${each}\` |`))).toEqual([]);
  });
});

describe("Each command of ours in the operators' README", () => {
  /** In blocks and between backticks: the name of a script, and the words behind it up to a pipe. */
  const commands = () =>
    [
      ...readme
        .replaceAll(/\\\n\s*/g, "")
        .replaceAll(/<\(.*?\)/g, "FILE")
        .matchAll(/(?:^ {4,}|`|&& )npm (?:run (?:-s )?)?([\w:-]+)(?: -- ([^`\n|]*))?/gm),
    ].flatMap(([, name = "", words = ""]) =>
      name === "ci" || name === "test" || name === "deploy" ? [] : [{ name, words: wordsOf(words) }],
    );
  const wordsOf = (text: string) =>
    (text.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((each) => each.replace(/^(["'])(.*)\1$/, "$2"));
  const scripts: Readonly<Record<string, string>> = manifest.scripts;

  it("is understood by its program, and names a stage that there is", async () => {
    expect(commands().length).toBeGreaterThan(20);
    for (const { name, words } of commands()) {
      const [, file] = /^node (\S+)$/.exec(scripts[name] ?? "") ?? [];
      expect(file, name).toBeDefined();
      if (words.length === 0) continue;
      const program = await import(join(root, file ?? ""));
      const { values } = parseWords(program.syntax, words);
      if (typeof values.stage === "string") stageNamed(values.stage);
    }
  });

  it("invokes a function with what it accepts", async () => {
    const invocations = commands().filter(({ name, words }) => name === "invoke" && words.length > 0);
    expect(invocations.length).toBeGreaterThan(8);
    for (const { words } of invocations) {
      const [given = "", payload] = parseWords(syntax, words).positionals;
      const path = functionPathOf(given);
      checkEvent(path, await eventOf(path, payload));
    }
  });
});

describe("Every function", () => {
  it("has an event that it can be invoked with", () => {
    const without = synthesis.functions.filter(
      ({ endpointPath }) => !existsSync(join(root, "events", `${endpointPath}.json`)),
    );

    expect(without).toEqual([]);
  });

  it("has the name that the README makes of its event", () => {
    const names = new Set(named("Lambda::Function", "FunctionName").map((each) => each.replace(/^colophon-\w+-/, "")));

    expect([...names].sort()).toEqual(
      synthesis.functions.map(({ endpointPath }) => endpointPath.replaceAll("/", "-")).sort(),
    );
  });
});
