import { execFile } from "node:child_process";
import { appendFile, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Stack } from "aws-cdk-lib";
import { Bucket } from "aws-cdk-lib/aws-s3";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { makeApp } from "../../../infra/stacks/app.ts";
import { settings } from "../../../infra/stages.ts";
import { copyOf, manifestOf, stacks, synthesize, type Template, useSynthesis } from "./synthesis.ts";

// A synthesis takes twenty seconds of a processor, which others use as well.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");

const synthesis = useSynthesis();

/** A stage and its database, which have one name. */
const settingsWith = (stage: string) => ({
  ...settings,
  databases: settings.databases.filter(({ name }) => name === stage),
  stages: settings.stages.filter(({ name }) => name === stage),
});

/** Where each function's code lies, by its name. */
const codeOf = (template: Template): Record<string, string> =>
  Object.fromEntries(
    template.all("Lambda::Function").map(({ Properties }) => [Properties.FunctionName, Properties.Code.S3Key]),
  );

describe("npm run synth", () => {
  it("works without credentials, without a region and without a network", async () => {
    const directory = join(root, "node_modules/.cache", `colophon-synth-${process.pid}`);
    const nowhere = "http://127.0.0.1:9";
    const { PATH = "" } = process.env;
    const env = {
      PATH,
      CDK_OUTDIR: directory,
      HTTPS_PROXY: nowhere,
      HTTP_PROXY: nowhere,
      AWS_EC2_METADATA_DISABLED: "1",
    };
    await run("npm", ["run", "--silent", "synth"], { cwd: root, env });
    const templates = (await readdir(directory)).filter((file) => file.endsWith(".template.json"));
    await rm(directory, { recursive: true });

    expect(templates.sort()).toEqual(stacks.map((each) => `${each}.template.json`).sort());
  });
});

describe("Templates", () => {
  it.each(stacks)("stay within what CloudFormation takes: %s", async (stack) => {
    const { resources } = synthesis.template(stack);
    const { size } = await stat(join(synthesis.directory, `${stack}.template.json`));

    // CloudFormation takes 500 resources and a megabyte.
    expect(resources.length).toBeLessThanOrEqual(300);
    expect(size).toBeLessThanOrEqual(400_000);
  });

  it("of stacks that hold data, or what those need, cannot be deleted by mistake", async () => {
    const { artifacts } = await manifestOf(synthesis);

    expect(stacks.filter((each) => artifacts[each].properties.terminationProtection)).toEqual([
      "colophon-account",
      "colophon-prod-database",
      "colophon-prod-backup",
      "colophon-prod",
      "colophon-prod-image-backup",
      "colophon-prod-eu-central-1-firewall",
    ]);
  });

  it.each(stacks)("name no machine: %s", (stack) => {
    expect(synthesis.template(stack).text).not.toContain(root);
  });

  it("are for the settings' account and region, and need to know nothing else of it", async () => {
    const { artifacts, missing } = await manifestOf(synthesis);

    for (const stack of stacks) {
      const region = stack.endsWith("backup")
        ? "eu-west-1"
        : /-(cdn-alarms|firewall)$/.test(stack)
          ? "us-east-1"
          : "eu-central-1";
      expect([stack, artifacts[stack].environment]).toEqual([stack, `aws://123456789012/${region}`]);
    }
    // The CDK's command line would ask the account for what is missing, and synthesise again.
    expect(missing).toBeUndefined();
  });

  it("are the account's and region's alone", async () => {
    const { databases, stages } = settings;
    const account = { id: "210987654321", region: "eu-west-3" };
    const moved = { account, databases, stages: stages.filter(({ domain }) => !domain) };
    const elsewhere = await synthesize(synthesis.functions, moved);
    const { artifacts } = await manifestOf(elsewhere);
    const dev = elsewhere.template("colophon-dev");
    await elsewhere.remove();

    expect(artifacts["colophon-dev"].environment).toBe("aws://210987654321/eu-west-3");
    expect(dev.text).not.toMatch(/123456789012|eu-central-1/);
    expect(dev.resources.map(({ id }) => id)).toEqual(
      expect.arrayContaining(
        synthesis
          .template("colophon-dev")
          .all("Lambda::Function")
          .map(({ id }) => id),
      ),
    );
  });

  it("carry the tags by which bills are split", async () => {
    const { artifacts } = await manifestOf(synthesis);
    const tagsOf = (stack: string) => artifacts[stack].properties.tags;

    expect(tagsOf("colophon-account")).toEqual({ application: "colophon" });
    for (const { name } of settings.databases) {
      for (const stack of [`colophon-${name}-database`, `colophon-${name}-backup`].filter((each) =>
        stacks.includes(each),
      )) {
        expect(tagsOf(stack)).toEqual({ application: "colophon", database: name });
      }
    }
    for (const { name } of settings.stages) {
      const parts = ["", "-image-backup", "-eu-central-1-cdn-alarms", "-eu-central-1-firewall"].map(
        (part) => `colophon-${name}${part}`,
      );
      for (const stack of parts.filter((each) => stacks.includes(each)))
        expect(tagsOf(stack)).toEqual({ application: "colophon", stage: name });
    }
  });

  describe("of the same settings, synthesised again", () => {
    const small = settingsWith("dev");
    let again: Awaited<ReturnType<typeof copyOf>>;
    beforeAll(async () => {
      again = await copyOf(synthesis.functions);
    });
    afterAll(() => again.remove());

    it("are the same", async () => {
      const second = await synthesize(again.functions, small);
      for (const stack of ["colophon-dev-database", "colophon-dev"])
        expect(second.template(stack).text).toBe(synthesis.template(stack).text);
      await second.remove();
    });

    it("change for the function alone whose code changed", async () => {
      await appendFile(again.functions.find(({ name }) => name === "admin-roles-edit")?.file ?? "", "\n// edited\n");
      const second = await synthesize(again.functions, small);
      const before = codeOf(synthesis.template("colophon-dev"));
      const after = Object.entries(codeOf(second.template("colophon-dev")));
      await second.remove();

      expect(after.flatMap(([name, key]) => (before[name] === key ? [] : name))).toEqual([
        "colophon-dev-admin-roles-edit",
      ]);
    });
  });

  it("cannot be deployed when sharp was not at hand", async () => {
    const functions = synthesis.functions.map((each) => ({ ...each, isComplete: !each.processesImages }));
    const incomplete = synthesize(functions, settingsWith("prod"));

    await expect(incomplete.then(({ template }) => template("colophon-prod").Rules?.Complete)).resolves.toMatchObject({
      Assertions: [{ AssertDescription: expect.stringContaining("npm run package") }],
    });
    await (await incomplete).remove();
  });
});

describe("cdk-nag", () => {
  it("lets nothing be synthesised while it finds something", async () => {
    const directory = await mkdtemp(join(root, "node_modules/.cache/colophon-synth-"));
    const app = makeApp(settingsWith("dev"), synthesis.functions, directory);
    new Bucket(new Stack(app, "careless"), "Open");

    expect(() => app.synth()).toThrow(/AwsSolutions-S1\b/);
    const report = await readFile(join(directory, "validation-report.json"), "utf8");
    expect(report).toMatch(/AwsSolutions-S10/);
    const violations = JSON.parse(report, (key, value) => (key === "suppressedViolations" ? undefined : value));
    expect(JSON.stringify(violations)).not.toMatch(/colophon-(dev|prod|account)/);
    await rm(directory, { recursive: true });
  });
});
