import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { settings } from "../../../infra/stages.ts";
import { type Declaration, functionName, methodsOf, routesOf } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { integrationOf, invokedBy, type Operation, operationsOf } from "./rest-api.ts";
import { type Resource, spell, type Template, useSynthesis } from "./synthesis.ts";

const synthesis = useSynthesis();

const routesFor = (declaration: Declaration) =>
  routesOf(declaration).flatMap((path) => methodsOf(declaration).map((method) => `${method} ${path}`));

/** The function behind an operation, through its alias where it has one. */
function target(template: Template, operation: Operation | undefined): Resource {
  const found = invokedBy(template, operation);
  return found.Type === "AWS::Lambda::Alias" ? template.find(found.Properties.FunctionName) : found;
}

const byName = ({ Properties }: Resource) => Properties.FunctionName as string;

describe.each(settings.stages)("The API of stage $name", ({ name, uploads, throttles, logRetentionDays, ...stage }) => {
  const served = endpoints.filter(({ files }) => uploads || !files);
  let template: Template;
  const streamSeconds = stage.streams?.secondsMax ?? 900;
  let operations: ReadonlyMap<string, Operation>;

  beforeAll(() => {
    template = synthesis.template(`colophon-${name}`);
    operations = operationsOf(template);
  });

  it("has a route for each declaration, also without its parameter, a preflight for each path, and no other", () => {
    const preflights = new Set(endpoints.flatMap(routesOf).map((path) => `OPTIONS ${path}`));
    expect([...operations.keys()].sort()).toEqual([...endpoints.flatMap(routesFor), ...preflights].sort());
  });

  it("has a Lambda for each declaration, and no other but what is scheduled", () => {
    const names = [
      ...served.map(functionName),
      "ops-tidy",
      ...(uploads ? ["ops-invalidate-images", "ops-remove-images"] : []),
      ...(stage.smoke ? ["ops-smoke"] : []),
    ];
    expect(template.all("Lambda::Function").map(byName).sort()).toEqual(
      names.map((each) => `colophon-${name}-${each}`).sort(),
    );
  });

  it.each(served.flatMap((each) => routesFor(each).map((route) => [route, each] as const)))(
    "serves %s by its function",
    (route, declaration) => {
      const operation = operations.get(route);
      const lambda = target(template, operation);
      const isStreaming = "list" in declaration.answers;

      expect(byName(lambda)).toBe(`colophon-${name}-${functionName(declaration)}`);
      expect(operation).not.toHaveProperty("security");
      const { uri, credentials: _, ...integration } = integrationOf(operation);
      expect(integration).toEqual({
        type: "aws_proxy",
        httpMethod: "POST",
        ...(isStreaming ? { responseTransferMode: "STREAM", timeoutInMillis: 1_000 * streamSeconds } : {}),
      });
      expect(spell(uri)).toMatch(
        isStreaming
          ? /:lambda:path\/2021-11-15\/functions\/\$\{[\w.]+\}\/response-streaming-invocations$/
          : /:lambda:path\/2015-03-31\/functions\/\$\{[\w.]+\}\/invocations$/,
      );
      expect(lambda.Properties.Timeout).toBe(isStreaming ? streamSeconds : 29);
      expect(lambda.Properties.ReservedConcurrentExecutions).toBe(isStreaming ? stage.streams?.concurrent : undefined);
    },
  );

  it("calls functions as a role that may call these and no others, and nobody else lets API Gateway in", () => {
    const calling = [...operations.values()].map(integrationOf).filter(({ type }) => type === "aws_proxy");
    const [role] = new Set(calling.map(({ credentials }) => template.find(credentials)));
    const { AssumeRolePolicyDocument, Policies, ManagedPolicyArns = [] } = role?.Properties ?? {};
    const [{ Effect, Action, Resource: allowed }] = Policies[0].PolicyDocument.Statement;
    const called = calling.map(({ uri }) => spell(uri).match(/(?<=functions\/)[^/]+/)?.[0]);

    for (const { credentials } of calling) expect(template.find(credentials)).toBe(role);
    expect(AssumeRolePolicyDocument.Statement).toEqual([
      { Action: "sts:AssumeRole", Effect: "Allow", Principal: { Service: "apigateway.amazonaws.com" } },
    ]);
    expect([Policies.length, Policies[0].PolicyDocument.Statement.length, ManagedPolicyArns]).toEqual([1, 1, []]);
    expect([Effect, Action]).toEqual(["Allow", "lambda:InvokeFunction"]);
    expect((allowed as unknown[]).map(spell).sort()).toEqual([...new Set(called)].sort());
    expect(allowed).toHaveLength(served.length);
    const principals = template.all("Lambda::Permission").map(({ Properties }) => Properties.Principal);
    expect(principals).not.toContain("apigateway.amazonaws.com");
  });

  it("runs Node.js 24 on arm64, with source maps and one log, kept as long as the stage says", () => {
    const logs = new Set<string>();
    for (const { Properties } of template.all("Lambda::Function")) {
      const { LogGroup: log, LogFormat } = Properties.LoggingConfig;
      const group = template.find(log).Properties;
      logs.add(group.LogGroupName);
      expect(group).toMatchObject({
        LogGroupName: `/colophon/${name}/functions`,
        RetentionInDays: logRetentionDays,
      });
      expect({ ...Properties, LogFormat }).toMatchObject({
        Runtime: "nodejs24.x",
        Architectures: ["arm64"],
        Handler: "index.handler",
        LogFormat: "Text",
      });
      expect(Properties.Environment.Variables.NODE_OPTIONS).toBe("--enable-source-maps");
    }
    expect(logs.size).toBe(1);
  });

  it("throttles each method by its kind, and preflights by what is left", () => {
    const { MethodSettings } = template.one("ApiGateway::Stage").Properties;
    const limits = Object.fromEntries(
      (MethodSettings as Resource["Properties"][]).map((each) => [
        `${each.HttpMethod} ${each.ResourcePath.slice(1).replaceAll("~1", "/")}`,
        { rate: each.ThrottlingRateLimit, burst: each.ThrottlingBurstLimit },
      ]),
    );

    expect(Object.keys(limits).sort()).toEqual(["* *", ...endpoints.flatMap(routesFor)].sort());
    expect(limits).toMatchObject({
      "* *": throttles.preflights,
      "GET /contributors": throttles.lists,
      "HEAD /contributors": throttles.lists,
      "GET /contributor/slug/{slug}": throttles.records,
      "GET /contributor/slug": throttles.records,
      "POST /admin-roles/edit/{id}": throttles.changes,
      "DELETE /admin-users/delete-image/{id}": throttles.images,
    });
  });

  it("writes access logs as JSON, traces, and never logs what is sent", () => {
    const { AccessLogSetting, TracingEnabled, MethodSettings } = template.one("ApiGateway::Stage").Properties;
    const line = JSON.parse(AccessLogSetting.Format.replace("$context.responseLatency", "12"));

    expect(line).toMatchObject({ requestId: "$context.requestId", status: "$context.status", milliseconds: 12 });
    expect(JSON.stringify(line)).not.toMatch(/cookie|header|body/i);
    expect(template.find(AccessLogSetting.DestinationArn).Type).toBe("AWS::Logs::LogGroup");
    expect(TracingEnabled).toBe(true);
    expect(template.one("XRay::SamplingRule").Properties.SamplingRule).toMatchObject({
      ServiceName: `colophon-${name}/v1`,
      FixedRate: 0.05,
      ReservoirSize: 0,
    });
    expect((MethodSettings as Resource["Properties"][]).map((each) => each.DataTraceEnabled)).not.toContain(true);
  });

  it("has a firewall, a domain and gradual releases as its settings say", () => {
    expect(template.all("WAFv2::WebACL")).toHaveLength(stage.firewall ? 1 : 0);
    expect(template.all("WAFv2::WebACLAssociation")).toHaveLength(stage.firewall ? 1 : 0);
    expect(template.all("ApiGateway::DomainName").map(({ Properties }) => Properties.DomainName)).toEqual(
      stage.domain ? [stage.domain.name] : [],
    );
    expect(template.one("ApiGateway::RestApi").Properties.DisableExecuteApiEndpoint ?? false).toBe(
      stage.domain !== undefined,
    );
    expect(template.all("CodeDeploy::DeploymentGroup")).toHaveLength(stage.releasesGradually ? served.length : 0);
  });
});

describe("A stage with gradual releases", () => {
  it("calls functions by an alias, whose traffic goes back when answers fail", () => {
    const template = synthesis.template("colophon-prod");
    const routes = [...operationsOf(template)].filter(([route]) => !route.startsWith("OPTIONS"));
    for (const [, operation] of routes) {
      const alias = invokedBy(template, operation);
      const { ApplicationName, DeploymentGroupName } = alias.UpdatePolicy?.CodeDeployLambdaAliasUpdate ?? {};
      const group = template.find(DeploymentGroupName).Properties;
      const alarms = group.AlarmConfiguration.Alarms;

      expect(alias.Type).toBe("AWS::Lambda::Alias");
      expect(template.find(alias.Properties.FunctionVersion).Type).toBe("AWS::Lambda::Version");
      expect(group.ApplicationName).toEqual(ApplicationName);
      expect(alarms.map(({ Name }: Resource["Properties"]) => template.find(Name).Properties.AlarmName)).toEqual([
        "colophon-prod-failing-answers",
        "colophon-prod-three-failures",
      ]);
      expect(group.AutoRollbackConfiguration).toEqual({
        Enabled: true,
        Events: ["DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_ALARM"],
      });
    }
  });
});

/** The files of a function's asset. */
async function assetOf(template: Template, name: string): Promise<string[]> {
  const lambda = template.all("Lambda::Function").find((each) => byName(each) === name);
  const hash = lambda?.Properties.Code.S3Key.replace(".zip", "");
  return await readdir(join(synthesis.directory, `asset.${hash}`), { recursive: true });
}

describe("A stage without uploads", () => {
  it("has no bucket and no CDN, and schedules nothing for images", () => {
    const template = synthesis.template("colophon-dev");
    const types = new Set(template.resources.map(({ Type }) => Type.split("::")[1]));

    for (const type of ["S3", "CloudFront"]) expect(types).not.toContain(type);
    expect(template.text).not.toMatch(/IMAGE_BUCKET|s3:/);
  });

  it("ships no sharp", async () => {
    const template = synthesis.template("colophon-dev");
    for (const each of template.all("Lambda::Function")) {
      expect((await assetOf(template, byName(each))).sort()).toEqual(["index.mjs", "index.mjs.map"]);
    }
  });
});

describe("A stage with uploads", () => {
  it("ships sharp for arm64 with the functions that make images, and with no other", async () => {
    const template = synthesis.template("colophon-prod");
    const shipping = [];
    for (const each of template.all("Lambda::Function")) {
      const native = (await assetOf(template, byName(each))).filter((file) => /sharp-[\w-]+\/.*\.node$/.test(file));
      if (native.length > 0) shipping.push([byName(each).replace("colophon-prod-", ""), ...native]);
    }

    const file = expect.stringMatching(/^node_modules\/@img\/sharp-linux-arm64\/.*\.node$/);
    expect(shipping.sort()).toEqual([
      ["admin-contributors-update-avatar", file],
      ["admin-users-update-image", file],
    ]);
  });

  it("gives the bucket's name to those who make or remove images alone", () => {
    const template = synthesis.template("colophon-prod");
    const having = template
      .all("Lambda::Function")
      .filter((each) => each.Properties.Environment.Variables.IMAGE_BUCKET);

    expect(having.map((each) => byName(each).replace("colophon-prod-", "")).sort()).toEqual([
      "admin-contributors-delete",
      "admin-contributors-delete-avatar",
      "admin-contributors-update-avatar",
      "admin-users-delete",
      "admin-users-delete-image",
      "admin-users-update-image",
      "ops-remove-images",
    ]);
  });
});
