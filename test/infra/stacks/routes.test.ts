import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { apiDocument, isServed } from "../../../infra/api/document.ts";
import { settings } from "../../../infra/stages.ts";
import { functionName, isNavigation, isPublicRecord, methodsOf, routesOf } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { type Properties, type Resource, type Template, templateText, useSynthesis } from "./synthesis.ts";

const synthesis = useSynthesis();

const byName = ({ Properties }: Resource) => Properties.FunctionName as string;

/** What a stage calls to run a function: its alias. */
function arnOf(template: Template, name: string): string {
  const lambda = template.all("Lambda::Function").find((each) => byName(each) === name);
  const alias = template.all("Lambda::Alias").find(({ Properties }) => Properties.FunctionName.Ref === lambda?.id);
  return `\${${alias?.id}}`;
}

/** The document that API Gateway imports, with its references in words. */
const documentOf = (template: Template): Properties =>
  JSON.parse(JSON.stringify(template.one("ApiGateway::RestApi").Properties.Body), (_, value) =>
    ["Ref", "Fn::GetAtt", "Fn::Join"].some((each) => each in Object(value)) ? templateText(value) : value,
  );

describe.each(settings.stages)("The API of stage $name", (stage) => {
  const { name, uploads, throttles, logRetentionDays } = stage;
  const served = endpoints.filter((each) => isServed(each, stage));
  let template: Template;

  beforeAll(() => {
    template = synthesis.template(`colophon-${name}`);
  });

  const invoker = () => template.all("IAM::Role").find(({ id }) => id.startsWith("RestInvoker"));

  it("is the API document, with the stage's own functions", () => {
    const expected = apiDocument({
      title: `colophon-${name}`,
      endpoints,
      settings: stage,
      partition: templateText({ Ref: "AWS::Partition" }),
      region: settings.account.region,
      functionArnOf: (each) => arnOf(template, `colophon-${name}-${each}`),
      invokerArn: `\${${invoker()?.id}.Arn}`,
    });

    expect(documentOf(template)).toEqual(JSON.parse(JSON.stringify(expected)));
  });

  it("has a Lambda for each declaration, and no other but what is scheduled, or invoked by operators", () => {
    const names = [
      ...served.map(functionName),
      "ops-tidy",
      "ops-undo",
      ...(stage.edge ? ["ops-invalidate"] : []),
      ...(uploads ? ["ops-invalidate-images", "ops-remove-images"] : []),
      ...(stage.smoke ? ["ops-smoke"] : []),
      "ops-release-on-deploy",
    ];
    expect(template.all("Lambda::Function").map(byName).sort()).toEqual(
      names.map((each) => `colophon-${name}-${each}`).sort(),
    );
  });

  it("gives a list as long as its stream may take, a public record as long as the edge waits, and everything else as long as API Gateway does", () => {
    const concurrencyOf = (declaration: (typeof served)[number]) => {
      if ("list" in declaration.response) return stage.streams.concurrent;
      if (isPublicRecord(declaration)) return stage.publicRecords.concurrent;
      if (declaration.needsFileService) return stage.images.concurrent;
      return isNavigation(declaration) ? stage.signIn?.concurrent : undefined;
    };
    for (const declaration of served) {
      const isList = "list" in declaration.response;
      const lambda = template
        .all("Lambda::Function")
        .find((each) => byName(each) === `colophon-${name}-${functionName(declaration)}`);
      expect([
        functionName(declaration),
        lambda?.Properties.Timeout,
        lambda?.Properties.ReservedConcurrentExecutions,
      ]).toEqual([
        functionName(declaration),
        isList ? stage.streams.secondsMax : isPublicRecord(declaration) ? 8 : 29,
        concurrencyOf(declaration),
      ]);
    }
  });

  it("calls functions as a role that may call these and no others, and nobody else lets API Gateway in", () => {
    const { AssumeRolePolicyDocument, Policies, ManagedPolicyArns = [] } = invoker()?.Properties ?? {};
    const [{ Effect, Action, Resource: allowed }] = Policies[0].PolicyDocument.Statement;

    expect(AssumeRolePolicyDocument.Statement).toEqual([
      { Action: "sts:AssumeRole", Effect: "Allow", Principal: { Service: "apigateway.amazonaws.com" } },
    ]);
    expect([Policies.length, Policies[0].PolicyDocument.Statement.length, ManagedPolicyArns]).toEqual([1, 1, []]);
    expect([Effect, Action]).toEqual(["Allow", "lambda:InvokeFunction"]);
    expect((allowed as unknown[]).map(templateText).sort()).toEqual(
      served.map((each) => arnOf(template, `colophon-${name}-${functionName(each)}`)).sort(),
    );
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

    const routes = endpoints.flatMap((each) =>
      routesOf(each).flatMap((path) => methodsOf(each).map((method) => `${method} ${path}`)),
    );
    expect(Object.keys(limits).sort()).toEqual(["* *", ...routes].sort());
    expect(limits).toMatchObject({
      "* *": throttles.preflights,
      "GET /contributors": throttles.lists,
      "HEAD /contributors": throttles.lists,
      "GET /contributor/slug/{slug}": throttles.records,
      "GET /contributor/slug": throttles.records,
      "POST /admin-roles/edit/{id}": throttles.changes,
      "DELETE /admin-users/delete-image/{id}": throttles.images,
      "GET /sign-in": throttles.signIn,
      "GET /sign-in/callback": throttles.signIn,
      "POST /sign-out": throttles.signIn,
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

  it("has a firewall and a domain as its settings say", () => {
    // With an edge it stands before that.
    const acls = stage.firewall && !stage.edge ? 1 : 0;
    expect(template.all("WAFv2::WebACL")).toHaveLength(acls);
    expect(template.all("WAFv2::WebACLAssociation")).toHaveLength(acls);
    expect(template.all("ApiGateway::DomainName").map(({ Properties }) => Properties.DomainName)).toEqual(
      stage.domain ? [stage.domain.name] : [],
    );
    expect(template.one("ApiGateway::RestApi").Properties.DisableExecuteApiEndpoint ?? false).toBe(
      stage.domain !== undefined,
    );
  });
});

/** The files of a function's asset. */
async function assetOf(template: Template, name: string): Promise<string[]> {
  const lambda = template.all("Lambda::Function").find((each) => byName(each) === name);
  const hash = lambda?.Properties.Code.S3Key.replace(".zip", "");
  return await readdir(join(synthesis.directory, `asset.${hash}`), { recursive: true });
}

describe("A stage without uploads", () => {
  it("has no bucket, no CDN and no queue, and schedules nothing for images", () => {
    const template = synthesis.template("colophon-dev");
    const types = new Set(template.resources.map(({ Type }) => Type.split("::")[1]));

    for (const type of ["S3", "CloudFront", "SQS"]) expect(types).not.toContain(type);
    expect(template.text).not.toMatch(/IMAGE_BUCKET|s3:|ops-invalidate-images/);
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
});
