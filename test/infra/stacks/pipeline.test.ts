import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { describe, expect, it } from "vitest";
import type { PipelineSettings, Settings } from "../../../infra/settings/schema.ts";
import { settingsSchema } from "../../../infra/settings/settings.ts";
import { PipelineStack } from "../../../infra/stacks/pipeline-stack.ts";
import { settings } from "../../../infra/stages.ts";
import { type Properties, stacks, templateText, useSynthesis } from "./synthesis.ts";

const root = join(import.meta.dirname, "../../..");
const repository = "example/colophon";
const provider = "arn:aws:iam::123456789012:oidc-provider/token.actions.githubusercontent.com";
const { id, region } = settings.account;
const synthesis = useSynthesis();

const deployed: Settings = {
  ...settings,
  account: { ...settings.account, pipeline: { repository } },
  databases: settings.databases.map((each) => ({ ...each, qualifier: `col${each.name}` })),
};

/** The stack of the pipeline's roles, as `npm run synth` makes it. */
async function synthesizePipeline(pipeline: PipelineSettings = { repository }, given: Settings = deployed) {
  const outdir = await mkdtemp(join(tmpdir(), "colophon-pipeline-"));
  const app = new App({ outdir, analyticsReporting: false, treeMetadata: false });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app, { verbose: true }));
  new PipelineStack(app, "colophon-pipeline", {
    env: { account: id, region: "us-east-1" },
    pipeline,
    settings: given,
  });
  app.synth();
  const text = await readFile(join(outdir, "colophon-pipeline.template.json"), "utf8");
  await rm(outdir, { recursive: true });
  const { Resources, Outputs } = JSON.parse(text) as Properties;
  const all: Properties[] = Object.values(Resources);
  const roleOf = (output: string): Properties => Resources[Outputs[output].Value["Fn::GetAtt"][0]].Properties;
  return { text, Outputs, roleOf, all: (type: string) => all.filter(({ Type }) => Type === `AWS::${type}`) };
}

/** The CDK's roles of these names, in these regions. */
const cdkRoles = (qualifier: string, names: readonly string[], regions: readonly string[]) =>
  regions.flatMap((each) => names.map((name) => `role/cdk-${qualifier}-${name}-role-${id}-${each}`));

const subjectsOf = (role: Properties): unknown => {
  const [{ Action, Condition, Principal }, ...others] = role.AssumeRolePolicyDocument.Statement;
  const { "token.actions.githubusercontent.com:sub": subjects, ...rest } = Condition.StringEquals;
  expect(others).toEqual([]);
  expect(Action).toBe("sts:AssumeRoleWithWebIdentity");
  expect(Object.keys(Principal)).toEqual(["Federated"]);
  expect(Object.keys(Condition)).toEqual(["StringEquals"]);
  expect(rest).toEqual({ "token.actions.githubusercontent.com:aud": "sts.amazonaws.com" });
  return subjects;
};

const rightsOf = (role: Properties): unknown => {
  expect(role.ManagedPolicyArns).toBeUndefined();
  const statements: Properties[] = role.Policies.flatMap((each: Properties) => each.PolicyDocument.Statement);
  return statements.map(({ Effect, Action, Resource, ...others }) => {
    expect([Effect, others]).toEqual(["Allow", {}]);
    const resources = [Resource]
      .flat()
      .map((each) => templateText(each).replace(/^arn:.*?:(iam:|(?:lambda|secretsmanager):.*?):\d+:/, ""));
    return [Action, resources];
  });
};

const deploying = ["deploy", "file-publishing", "lookup"];

describe("The pipeline", () => {
  it("lets pull requests read, and nothing more", async () => {
    const role = (await synthesizePipeline()).roleOf("DiffRole");

    expect(subjectsOf(role)).toBe("repo:example/colophon:pull_request");
    expect(rightsOf(role)).toEqual([
      [
        "sts:AssumeRole",
        [
          ...cdkRoles("hnb659fds", ["lookup"], [region, "us-east-1"]),
          ...cdkRoles("coldev", ["lookup"], [region]),
          ...cdkRoles("colprod", ["lookup"], [region, "eu-west-1", "us-east-1"]),
        ],
      ],
    ]);
  });

  it("lets each environment deploy its own stage by the CDK, and by itself invalidate its edge", async () => {
    const { roleOf, all } = await synthesizePipeline();
    const [dev, prod] = [roleOf("DevDeployRole"), roleOf("ProdDeployRole")];

    expect(subjectsOf(dev)).toBe("repo:example/colophon:environment:dev");
    expect(subjectsOf(prod)).toBe("repo:example/colophon:environment:prod");
    expect(rightsOf(dev)).toEqual([["sts:AssumeRole", cdkRoles("coldev", deploying, [region])]]);
    expect(rightsOf(prod)).toEqual([
      ["sts:AssumeRole", cdkRoles("colprod", deploying, [region, "eu-west-1", "us-east-1"])],
      ["lambda:InvokeFunction", ["function:colophon-prod-ops-invalidate"]],
      ["secretsmanager:GetSecretValue", ["secret:/colophon/prod/edge-key-*"]],
    ]);
    expect(prod.MaxSessionDuration).toBe(7_200);
    expect(all("IAM::Role")).toHaveLength(3);
  });

  it("makes GitHub's provider, or takes the one that is there", async () => {
    const made = await synthesizePipeline();
    const taken = await synthesizePipeline({ repository, provider });

    expect(made.all("IAM::OIDCProvider").map(({ Properties }) => Properties)).toEqual([
      { ClientIdList: ["sts.amazonaws.com"], Url: "https://token.actions.githubusercontent.com" },
    ]);
    expect(taken.all("IAM::OIDCProvider")).toEqual([]);
    expect(taken.roleOf("DiffRole").AssumeRolePolicyDocument.Statement[0].Principal).toEqual({ Federated: provider });
  });

  it("is the same stack when the stages move to another region, so that its provider is there once", async () => {
    const moved = { ...deployed, account: { ...deployed.account, region: "eu-west-3" } };
    const [one, other] = await Promise.all([synthesizePipeline(), synthesizePipeline({ repository }, moved)]);

    expect(other.Outputs).toEqual(one.Outputs);
    expect(other.text).not.toContain(region);
  });

  it.each([
    ["none of its own", undefined],
    ["that of another", "colprod"],
    ["the CDK's", "hnb659fds"],
  ])("is refused where a database has %s", (_, qualifier) => {
    const [dev, ...others] = deployed.databases;
    const { error } = settingsSchema.safeParse({ ...deployed, databases: [{ ...dev, qualifier }, ...others] });

    expect(error?.issues.map(({ message }) => message)).toEqual([
      "with account.pipeline each database has a qualifier of its own",
    ]);
  });
});

describe("Without a pipeline", () => {
  it("nobody on GitHub is trusted", () => {
    expect(stacks).not.toContain("colophon-pipeline");
    for (const stack of stacks) expect(synthesis.template(stack).text).not.toContain("githubusercontent");
  });
});

/** A job of a workflow, by its name. */
const jobOf = (workflow: string, name: string): string =>
  new RegExp(`^ {2}${name}:\\n[\\s\\S]*?(?=^ {2}[\\w#])`, "m").exec(workflow)?.[0] ?? expect.fail(`no job ${name}`);

describe("The workflows", async () => {
  const folder = join(root, ".github/workflows");
  const files = await readdir(folder);
  const texts = new Map(
    await Promise.all(files.map(async (file) => [file, await readFile(join(folder, file), "utf8")] as const)),
  );
  const pipeline = texts.get("pipeline.yml") ?? "";
  const deploy = texts.get("deploy.yml") ?? "";

  it.each(files)("%s pins what others wrote by commit", (file) => {
    const used = [...(texts.get(file) ?? "").matchAll(/uses: (?!\.\/)(\S+)(.*)/g)];

    expect(used.length).toBeGreaterThan(0);
    for (const [, name, comment] of used)
      expect(`${name}${comment}`).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it.each(files)("%s holds no key, and may read the repository and no more", (file) => {
    const text = texts.get(file) ?? "";
    const rights = [...text.matchAll(/^ *(?:[\w-]+: write|write-all)$/gm)].map(([line]) => line.trim());

    expect(text).not.toMatch(/secrets\.|secrets: inherit|aws-access-key-id|pull_request_target/);
    expect(text).toMatch(/^permissions:\n {2}contents: read$/m);
    expect(new Set(rights)).toEqual(new Set(["id-token: write"]));
  });

  it("deploy every stage from one artefact, each after the one before", () => {
    const [first = "", second = ""] = settings.stages.map(({ name }) => name);

    expect(settings.stages).toHaveLength(2);
    for (const [stage, needs] of [
      [first, "build"],
      [second, `[build, ${first}]`],
    ]) {
      const job = jobOf(`${pipeline}  end:`, stage ?? "");
      expect(job).toContain(`    needs: ${needs}\n`);
      expect(job).toMatch(
        new RegExp(`^ {6}stage: ${stage}\n {6}digest: \\$\\{\\{ needs\\.build\\.outputs\\.digest \\}\\}$`, "m"),
      );
    }
  });

  it("build once, from what has been tested", () => {
    const build = jobOf(pipeline, "build");

    expect(build).toMatch(/^ {4}needs: test\n {4}if: github\.event_name == 'push' && vars\.AWS_REGION != ''$/m);
    expect(build).toMatch(/npm run package[\s\S]*npm run synth[\s\S]*--file cdk\.tar\.gz cdk\.out$/m);
    expect(build).not.toContain("id-token");
    expect(deploy).not.toMatch(/npm run (package|synth|build)/);
    expect(deploy).toMatch(/echo "\$DIGEST {2}cdk\.tar\.gz" \| sha256sum --check --strict\n.*tar --extract/);
  });

  it("refuse an artefact that is not what was built", async () => {
    const folder = await mkdtemp(join(tmpdir(), "colophon-artefact-"));
    await mkdir(join(folder, "cdk.out"));
    await writeFile(join(folder, "cdk.out/manifest.json"), "{}");
    const [, pack = ""] = /id: pack\n {8}run: \|\n([\s\S]*?)\n {6}- /.exec(pipeline) ?? [];
    const [, unpack = ""] = /- run: \|\n( {10}echo "\$DIGEST[\s\S]*?)\n {6}- /.exec(deploy) ?? [];
    const run = (script: string, env = {}) =>
      promisify(execFile)("bash", ["-eo", "pipefail", "-c", script], { cwd: folder, env: { ...process.env, ...env } });

    await run(pack, { GITHUB_OUTPUT: join(folder, "output") });
    const [, DIGEST = ""] = (await readFile(join(folder, "output"), "utf8")).match(/^digest=(\w+)$/m) ?? [];
    await rm(join(folder, "cdk.out"), { recursive: true });
    await run(unpack, { DIGEST });
    expect(await readFile(join(folder, "cdk.out/manifest.json"), "utf8")).toBe("{}");

    await writeFile(join(folder, "cdk.out/manifest.json"), "{ }");
    await run(pack, { GITHUB_OUTPUT: join(folder, "other") });
    await expect(run(unpack, { DIGEST })).rejects.toThrow("cdk.tar.gz");
    await rm(folder, { recursive: true });
  });

  it("give credentials to no fork, and deploy in an environment alone", () => {
    const diff = jobOf(pipeline, "diff");

    expect(diff).toContain("github.event.pull_request.head.repo.full_name == github.repository");
    expect(pipeline.match(/DIFF_ROLE \}\}/g)).toHaveLength(1);
    expect(diff).toMatch(/role-to-assume: \$\{\{ vars\.AWS_DIFF_ROLE \}\}/);
    expect(pipeline).not.toContain("DEPLOY_ROLE }}");
    expect(deploy).toMatch(/environment: \$\{\{ inputs\.stage \}\}/);
    expect(deploy).toMatch(/npx cdk deploy[\s\S]*npm run smoke/);
  });

  it("deploy each stack but the account's and the pipeline's in one job", () => {
    expect(deploy).toContain(
      "npx cdk deploy --app cdk.out --exclusively --require-approval never --outputs-file outputs.json\n" +
        '          "$STACK" "$STACK-*"\n',
    );
    const all = settings.stages.flatMap(({ name }) =>
      stacks.filter((each) => each === `colophon-${name}` || each.startsWith(`colophon-${name}-`)),
    );
    expect(["colophon-account", ...all].sort()).toEqual([...stacks].sort());
  });

  it("try the API itself after a deployment, not the answers that its edge has kept", () => {
    expect(deploy).toMatch(
      /npm run smoke -- \$\(jq -r '\.\[env\.STACK\] \| select\(has\("EdgeTarget"\) \| not\) \| \.Url' outputs\.json\) --stage "\$\{STACK#colophon-\}"$/m,
    );
  });

  it("empty the edge at the end, also when a step before failed", () => {
    expect(deploy).toMatch(/- if: always\(\)\n {8}run: npm run empty-edge -- --stage "\$\{STACK#colophon-\}"\n$/);
  });

  it("run what must hold before a change lands", () => {
    expect(pipeline).toMatch(/^ {6}- run: .*\.ci\/run$/m);
  });

  it("check the registry's signatures before any package runs", () => {
    expect(pipeline).toMatch(
      /^ {6}- run: npm ci --ignore-scripts\n {6}- run: npm audit signatures\n {6}- run: .*\.ci\/run$/m,
    );
  });
});

describe("Dependabot", async () => {
  const text = await readFile(join(root, ".github/dependabot.yml"), "utf8");
  const updates = text.split(/^ {2}- package-ecosystem: /m).slice(1);

  it("updates packages and actions once a week, small updates together", () => {
    expect(updates.map((each) => each.split("\n")[0])).toEqual(["npm", "github-actions"]);
    for (const each of updates) {
      expect(each).toMatch(/^ {4}schedule:\n {6}interval: weekly$/m);
      expect(each).toMatch(/^ {4}groups:\n {6}\w+:\n {8}patterns: \["\*"\]$/m);
    }
  });

  it("leaves the CDK's command line at 2", () => {
    expect(updates[0]).toMatch(/- dependency-name: aws-cdk\n {8}versions: \["3\.x"\]$/m);
  });
});
