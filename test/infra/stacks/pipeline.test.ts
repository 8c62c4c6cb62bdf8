import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { describe, expect, it } from "vitest";
import type { PipelineSettings, Settings } from "../../../infra/settings/schema.ts";
import { AccountStack } from "../../../infra/stacks/account-stack.ts";
import { settings } from "../../../infra/stages.ts";
import { type Properties, templateText } from "./synthesis.ts";

const root = join(import.meta.dirname, "../../..");
const repository = "example/colophon";
const provider = "arn:aws:iam::123456789012:oidc-provider/token.actions.githubusercontent.com";
const { id, region } = settings.account;

/** The account's stack, as `npm run synth` makes it. */
async function synthesizeAccount(pipeline?: PipelineSettings, changes: Partial<Settings> = {}) {
  const outdir = await mkdtemp(join(tmpdir(), "colophon-pipeline-"));
  const app = new App({ outdir, analyticsReporting: false, treeMetadata: false });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app, { verbose: true }));
  new AccountStack(app, "colophon-account", {
    env: { account: id, region },
    settings: { ...settings, ...changes, account: { id, region, pipeline } },
  });
  app.synth();
  const text = await readFile(join(outdir, "colophon-account.template.json"), "utf8");
  await rm(outdir, { recursive: true });
  const { Resources, Outputs } = JSON.parse(text) as Properties;
  const all: Properties[] = Object.values(Resources);
  const roleOf = (output: string): Properties => Resources[Outputs[output].Value["Fn::GetAtt"][0]].Properties;
  return { Outputs, roleOf, all: (type: string) => all.filter(({ Type }) => Type === `AWS::${type}`) };
}

/** The CDK's roles of these names, in the regions of the settings. */
const cdkRoles = (...names: string[]) =>
  [region, "eu-west-1", "us-east-1"].flatMap((each) => {
    return names.map((name) => `role/cdk-hnb659fds-${name}-role-${id}-${each}`);
  });

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

const rightsOf = (role: Properties, action = "sts:AssumeRole"): unknown => {
  expect(role.ManagedPolicyArns).toBeUndefined();
  const statements: Properties[] = role.Policies.flatMap((each: Properties) => each.PolicyDocument.Statement);
  const [{ Resource, Effect } = {}, ...others] = statements.filter(({ Action }) => Action === action);
  expect(others).toEqual([]);
  expect(Effect).toBe("Allow");
  expect(statements.every(({ Action }) => ["sts:AssumeRole", "lambda:InvokeFunction"].includes(Action))).toBe(true);
  return [Resource].flat().map((each) => templateText(each).replace(/^arn:.*:iam::123456789012:/, ""));
};

describe("The account, with a pipeline", () => {
  it("lets pull requests read, and nothing more", async () => {
    const role = (await synthesizeAccount({ repository })).roleOf("DiffRole");

    expect([subjectsOf(role)].flat()).toEqual(["repo:example/colophon:pull_request"]);
    expect(role.Policies).toHaveLength(1);
    expect(rightsOf(role)).toEqual(cdkRoles("lookup"));
  });

  it("goes to no region where nothing is deployed", async () => {
    const databases = settings.databases.map(({ backupRegion: _, ...each }) => each);
    const stages = settings.stages.filter(({ edge, uploads }) => !edge && !uploads);
    const role = (await synthesizeAccount({ repository }, { databases, stages })).roleOf("DiffRole");

    expect(rightsOf(role)).toEqual([`role/cdk-hnb659fds-lookup-role-${id}-${region}`]);
  });

  it("lets the environments of its stages deploy by the CDK, and by themselves invalidate edges and nothing else", async () => {
    const role = (await synthesizeAccount({ repository })).roleOf("DeployRole");

    expect(subjectsOf(role)).toEqual([
      "repo:example/colophon:environment:dev",
      "repo:example/colophon:environment:prod",
    ]);
    expect(rightsOf(role)).toEqual(cdkRoles("lookup", "deploy", "file-publishing"));
    expect(rightsOf(role, "lambda:InvokeFunction")).toEqual([
      expect.stringMatching(/:lambda:eu-central-1:123456789012:function:colophon-prod-ops-invalidate$/),
    ]);
    expect(role.MaxSessionDuration).toBe(7_200);
  });

  it("knows a repository with its numbers", async () => {
    const role = (await synthesizeAccount({ repository: "example@12/colophon@345" })).roleOf("DiffRole");

    expect([subjectsOf(role)].flat()).toEqual(["repo:example@12/colophon@345:pull_request"]);
  });

  it("makes GitHub's provider, or takes the one that is there", async () => {
    const made = await synthesizeAccount({ repository });
    const taken = await synthesizeAccount({ repository, provider });

    expect(made.all("IAM::OIDCProvider").map(({ Properties }) => Properties)).toEqual([
      { ClientIdList: ["sts.amazonaws.com"], Url: "https://token.actions.githubusercontent.com" },
    ]);
    expect(taken.all("IAM::OIDCProvider")).toEqual([]);
    expect(taken.roleOf("DiffRole").AssumeRolePolicyDocument.Statement[0].Principal).toEqual({ Federated: provider });
  });
});

describe("The account, without a pipeline", () => {
  it("trusts nobody on GitHub", async () => {
    const { all, Outputs } = await synthesizeAccount();

    expect(all("IAM::Role")).toHaveLength(1);
    expect(all("IAM::OIDCProvider")).toEqual([]);
    expect(Outputs).not.toHaveProperty("DeployRole");
  });
});

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

  it("deploy every stage, each after the one before", () => {
    const deployed = [...pipeline.matchAll(/^ {2}(\w+):\n {4}needs: (\w+)\n[\s\S]*?stage: (\w+)$/gm)];

    expect(deployed.map(([, job, needs, stage]) => [job, needs, stage])).toEqual([
      ["dev", "test", "dev"],
      ["prod", "dev", "prod"],
    ]);
    expect(deployed.map(([, , , stage]) => stage)).toEqual(settings.stages.map(({ name }) => name));
  });

  it("give credentials to no fork, and deploy in an environment alone", () => {
    const [diff = ""] = /^ {2}diff:\n[\s\S]*?(?=^ {2}\w+:$)/m.exec(pipeline) ?? [];

    expect(diff).toContain("github.event.pull_request.head.repo.full_name == github.repository");
    expect(pipeline.match(/DIFF_ROLE \}\}/g)).toHaveLength(1);
    expect(diff).toMatch(/role-to-assume: \$\{\{ vars\.AWS_DIFF_ROLE \}\}/);
    expect(pipeline).not.toContain("DEPLOY_ROLE }}");
    expect(deploy).toMatch(/environment: \$\{\{ inputs\.stage \}\}/);
    expect(deploy).toMatch(/npx cdk deploy[\s\S]*npm run smoke/);
  });

  it("deploy a stage with its alarms on CloudFront, if it has any", () => {
    expect(deploy).toContain(
      'npx cdk deploy --require-approval never --outputs-file outputs.json "$STACK" "$STACK-cdn-alarms"\n',
    );
  });

  it("try the API itself after a deployment, not the answers that its edge has kept", () => {
    expect(deploy).toMatch(
      /npm run smoke -- "\$\(jq -r '\.\[env\.STACK\] \| \.DirectUrl \/\/ \.Url' outputs\.json\)" --stage "\$\{STACK#colophon-\}"$/m,
    );
  });

  it("invalidate the edge when the API has been tried, and fail when that fails", () => {
    const [, script = ""] = /npm run smoke[^\n]*\n[^\n]*\n {6}- run: \|\n([\s\S]*)$/.exec(deploy) ?? [];

    expect(script).toContain(`--payload '{"everything": true}' answer.json | tee invocation.json`);
    expect(script).toContain("jq -e 'has(\"FunctionError\") | not' invocation.json");
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
