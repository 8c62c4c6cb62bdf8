import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { settings } from "../../infra/stages.ts";
import { stacks, type Template, useSynthesis } from "./stacks/synthesis.ts";

const root = join(import.meta.dirname, "../..");

/** What operators read: the README, and the pages beside it. */
let readme: string;
let templates: Template[];

const synthesis = useSynthesis();

beforeAll(async () => {
  const pages = ["README", "costs", "edge", "pipeline", "restore", "sign-in", "take-downs"].map((page) =>
    readFile(join(root, "infra", `${page}.md`), "utf8"),
  );
  readme = (await Promise.all(pages)).join("\n");
  templates = stacks.map((each) => synthesis.template(each));
});

const all = (pattern: RegExp): string[] => [...new Set(readme.match(pattern))];
const named = (type: string, property: string): string[] =>
  templates.flatMap((each) => each.all(type).map(({ Properties }) => Properties[property]));

describe("The operators' README", () => {
  it("names files that are there", () => {
    const files = all(/\b(?:events|functions|infra|lib|test)\/[\w./-]*\w/g);

    expect(files.filter((each) => !existsSync(join(root, each)))).toEqual([]);
    expect(files.length).toBeGreaterThan(5);
  });

  it("names stacks, functions, alarms, dashboards and vaults that are there", () => {
    const known = [
      ...stacks,
      "colophon-pipeline",
      ...named("Lambda::Function", "FunctionName"),
      ...named("CloudWatch::Alarm", "AlarmName"),
      ...named("CloudWatch::Dashboard", "DashboardName"),
      ...named("Backup::BackupVault", "BackupVaultName"),
      // The operator gives this name.
      "colophon-prod-database-copy",
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

    const rows = readme.split("\n").filter((line) => /^ *\|/.test(line));
    expect(expected.filter((each) => !rows.some((row) => row.includes(`\`${each}\``)))).toEqual([]);
  });
});

it("The table of limits has the settings of prod", async () => {
  const page = await readFile(join(root, "lib/contract/README.md"), "utf8");
  const { streams, publicRecords, firewall } = settings.stages.find(({ name }) => name === "prod") ?? {};

  for (const limit of [streams?.concurrent, publicRecords?.concurrent, firewall?.requestsPerAddressIn5Minutes])
    expect(page).toContain(`in prod ${limit?.toLocaleString("en")} `);
  expect(page).toContain(`${firewall?.unlimitedListsPerAddressIn5Minutes} of them for lists without a \`limit\``);
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
