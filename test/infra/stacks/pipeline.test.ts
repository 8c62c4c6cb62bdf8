import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { App, Stack } from "aws-cdk-lib";
import { Template as Assertions } from "aws-cdk-lib/assertions";
import { describe, expect, inject, it } from "vitest";
import { settings } from "../../../infra/settings/settings.ts";
import { addPipeline } from "../../../infra/stacks/pipeline-stack.ts";
import { changed, lost, region, repository } from "./changed-settings.ts";
import { changedSynthesis, type Properties, stacks, synthesis, templateText } from "./synthesis.ts";

const template = (await changedSynthesis()).template("colophon-pipeline");

/** The CDK's roles of these names, in these regions. */
const cdkRoles = (qualifier: string, names: readonly string[], regions: readonly string[]) =>
  regions.flatMap((each) => names.map((name) => `role/cdk-${qualifier}-${name}-role-123456789012-${each}`));

describe("The pipeline", () => {
  const roleOf = (output: string): Properties => template.find(template.Outputs[output].Value).Properties;

  /** Who may take on a role, by the subject of a token of GitHub. */
  const subjectOf = (output: string): unknown => {
    const [{ Action, Condition, Principal }, ...others] = roleOf(output).AssumeRolePolicyDocument.Statement;
    const { "token.actions.githubusercontent.com:sub": subject, ...rest } = Condition.StringEquals;
    expect([Action, others]).toEqual(["sts:AssumeRoleWithWebIdentity", []]);
    expect([Object.keys(Principal), Object.keys(Condition)]).toEqual([["Federated"], ["StringEquals"]]);
    expect(rest).toEqual({ "token.actions.githubusercontent.com:aud": "sts.amazonaws.com" });
    return subject;
  };

  const rightsOf = (output: string): unknown => {
    const { ManagedPolicyArns, Policies } = roleOf(output);
    expect(ManagedPolicyArns).toBeUndefined();
    const statements: Properties[] = Policies.flatMap((each: Properties) => each.PolicyDocument.Statement);
    return statements.map(({ Effect, Action, Resource, ...others }) => {
      expect([Effect, others]).toEqual(["Allow", {}]);
      const arns = [Resource].flat().map(templateText);
      return [Action, ...arns.map((each) => each.replace(/^arn:.*?:(iam:|(?:lambda|secretsmanager):.*?):\d+:/, ""))];
    });
  };

  const own = [region, lost, "us-east-1"];
  const deploying = ["deploy", "file-publishing", "lookup"];

  it("lets pull requests read, and nothing more", () => {
    expect(subjectOf("DiffRole")).toBe("repo:example/colophon:pull_request");
    const ofAccount = cdkRoles("hnb659fds", ["lookup"], [region, "us-east-1"]);
    const ofStages = ["coldev", "colprod"].flatMap((each) => cdkRoles(each, ["lookup"], own));
    expect(rightsOf("DiffRole")).toEqual([["sts:AssumeRole", ...ofAccount, ...ofStages]]);
  });

  it("lets each environment deploy its own stage by the CDK, and by itself invalidate its edge", () => {
    expect(subjectOf("DevDeployRole")).toBe("repo:example/colophon:environment:dev");
    expect(subjectOf("ProdDeployRole")).toBe("repo:example/colophon:environment:prod");
    expect(rightsOf("DevDeployRole")).toEqual([["sts:AssumeRole", ...cdkRoles("coldev", deploying, own)]]);
    expect(rightsOf("ProdDeployRole")).toEqual([
      ["sts:AssumeRole", ...cdkRoles("colprod", deploying, own)],
      ["lambda:InvokeFunction", "function:colophon-prod-ops-invalidate:live"],
      ["secretsmanager:GetSecretValue", "secret:/colophon/prod/edge-key-*"],
    ]);
    expect(roleOf("ProdDeployRole").MaxSessionDuration).toBe(7_200);
    expect(template.all("IAM::Role")).toHaveLength(3);
  });

  it("makes GitHub's provider, or takes the one that is there, and without a pipeline nobody on GitHub is trusted", async () => {
    const provider = "arn:aws:iam::123456789012:oidc-provider/token.actions.githubusercontent.com";
    const outdir = await mkdtemp(join(inject("cache"), "pipeline-"));
    const stack = new Stack(new App({ outdir }), "colophon-pipeline");
    addPipeline(stack, { repository, provider }, changed);
    const taken = Assertions.fromStack(stack);

    expect(template.each("IAM::OIDCProvider")).toEqual([
      { ClientIdList: ["sts.amazonaws.com"], Url: "https://token.actions.githubusercontent.com" },
    ]);
    taken.resourceCountIs("AWS::IAM::OIDCProvider", 0);
    expect(JSON.stringify(taken.toJSON()).split(provider)).toHaveLength(4);
    for (const each of stacks) expect(synthesis.template(each).text).not.toContain("githubusercontent");
  });
});

/** A job of a workflow, by its name. */
const jobOf = (workflow: string, name: string): string =>
  new RegExp(`^ {2}${name}:\\n[\\s\\S]*?(?=^ {2}[\\w#])`, "m").exec(workflow)?.[0] ?? expect.fail(`no job ${name}`);

describe("The workflows", async () => {
  const folder = ".github/workflows";
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

  it.each([
    { job: "generators", command: ".ci/generators" },
    { job: "fuzz", command: ".ci/fuzz 1" },
  ])("run $command beside the tests, for pull requests too", ({ job, command }) => {
    const text = jobOf(pipeline, job);

    expect(text).toContain(`      - run: ${command}\n`);
    expect(text).not.toMatch(/^ {4}if:/m);
  });

  it("build once, from what has been tested, and deploy every stage from that, each after the one before", () => {
    const build = jobOf(pipeline, "build");
    const [first = "", second = ""] = settings.stages.map(({ name }) => name);

    expect(settings.stages).toHaveLength(2);
    for (const [stage, needs] of Object.entries({ [first]: "build", [second]: `[build, ${first}]` })) {
      const job = jobOf(`${pipeline}  end:`, stage);
      expect(job).toContain(`    needs: ${needs}\n`);
      expect(job).toContain(`      stage: ${stage}\n      digest: \${{ needs.build.outputs.digest }}`);
    }
    expect(build).toMatch(/^ {4}needs: test\n {4}if: github\.event_name == 'push' && vars\.AWS_REGION != ''$/m);
    expect(build).toMatch(/npm run package[\s\S]*npm run synth[\s\S]*--file cdk\.tar\.gz cdk\.out$/m);
    expect(build).not.toContain("id-token");
    expect(deploy).not.toMatch(/npm run (package|synth|build)/);
  });

  it("refuse an artefact that is not what was built", async () => {
    const folder = await mkdtemp(join(inject("cache"), "artefact-"));
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
  });

  it("give credentials to no fork, and deploy in an environment alone", () => {
    const diff = jobOf(pipeline, "diff");

    expect(diff).toContain("github.event.pull_request.head.repo.full_name == github.repository");
    expect(diff).toMatch(/role-to-assume: \$\{\{ vars\.AWS_DIFF_ROLE \}\}/);
    expect(pipeline.match(/DIFF_ROLE \}\}/g)).toHaveLength(1);
    expect(pipeline).not.toContain("DEPLOY_ROLE }}");
    expect(deploy).toMatch(/environment: \$\{\{ inputs\.stage \}\}/);
  });

  it("deploy each stack of a stage in one job, try the API itself, and empty the edge whatever failed", () => {
    const [, cdk = "", smoke = "", empty = ""] =
      /(npx cdk deploy .*\n.*)\n[\s\S]*(npm run smoke .*)\n[\s\S]*(- if: always\(\)\n.*)\n$/.exec(deploy) ?? [];
    expect(cdk).toMatch(/--exclusively .*--outputs-file outputs\.json\n +"\$STACK" "\$STACK-\*"$/);
    // The account's is deployed by hand.
    const isOfStage = (stack: string) =>
      settings.stages.some(({ name }) => `${stack}-`.startsWith(`colophon-${name}-`));
    expect(stacks.filter((each) => !isOfStage(each))).toEqual(["colophon-account"]);
    expect(smoke).toMatch(/select\(has\("EdgeTarget"\) \| not\) .*outputs\.json\) --stage "\$\{STACK#colophon-\}"$/);
    expect(empty).toMatch(/run: npm run empty-edge -- --stage "\$\{STACK#colophon-\}"$/);
  });

  it("check the registry's signatures before any package runs, and then what must hold before a change lands", () => {
    const steps = /^ {6}- run: npm ci --ignore-scripts\n {6}- run: npm audit signatures\n {6}- run: .*\.ci\/run$/m;
    expect(pipeline).toMatch(steps);
  });
});
