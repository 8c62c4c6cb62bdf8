import { describe, expect, it } from "vitest";
import { isServed, routedEndpoints } from "../../../infra/api/document.ts";
import { settings } from "../../../infra/settings/settings.ts";
import { functionName, methodsOf, routesOf } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { changedSynthesis, type Properties, synthesis, type Template, templateText } from "./synthesis.ts";

const changed = await changedSynthesis();

const lambdaIn = (template: Template, name: string) => template.the("Lambda::Function", "FunctionName", name);

/** What a stage calls to run a function: its alias, by its name. */
function arnOf(template: Template, name: string): string {
  const { id } = lambdaIn(template, name);
  const alias = template.each("Lambda::Alias").find(({ FunctionName }) => FunctionName.Ref === id);
  return `arn:\${AWS::Partition}:lambda:eu-central-1:123456789012:function:${name}:${alias?.Name}`;
}

describe.each(settings.stages)("The API of stage $name", (stage) => {
  const { name, uploads, throttles, logRetentionDays, allowedOrigins } = stage;
  const served = routedEndpoints(endpoints, stage).filter((each) => isServed(each, stage));
  const template = synthesis.template(`colophon-${name}`);
  const invoker = () => template.all("IAM::Role").find(({ id }) => id.startsWith("RestInvoker"));

  const { paths } = template.one("ApiGateway::RestApi").Properties.Body;

  it("invokes the stage's own function on each route", () => {
    for (const each of served)
      for (const route of routesOf(each)) {
        const { uri, credentials } = paths[route][each.method.toLowerCase()]["x-amazon-apigateway-integration"];
        expect(templateText(uri)).toContain(`/functions/${arnOf(template, `colophon-${name}-${functionName(each)}`)}/`);
        expect(templateText(credentials)).toBe(`\${${invoker()?.id}.Arn}`);
      }
  });

  it("permits requests of pages of the stage's own origins", () => {
    const origins = JSON.stringify(paths["/admin-users"].options).match(/https?:[^\\"]+/g);

    expect(origins).toEqual(allowedOrigins);
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
    const made = template.each("Lambda::Function").map(({ FunctionName }) => FunctionName);
    expect(made.sort()).toEqual(names.map((each) => `colophon-${name}-${each}`).sort());
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

  it("runs functions on arm64, which log to one group, kept as long as the stage says", () => {
    const log = template.the("Logs::LogGroup", "LogGroupName", `/colophon/${name}/functions`);
    expect(log.Properties.RetentionInDays).toBe(logRetentionDays);
    for (const { Architectures, LoggingConfig } of template.each("Lambda::Function")) {
      expect([Architectures, LoggingConfig]).toEqual([["arm64"], { LogGroup: { Ref: log.id }, LogFormat: "Text" }]);
    }
  });

  it("throttles each method by its kind, and preflights by what is left", () => {
    const { MethodSettings } = template.one("ApiGateway::Stage").Properties;
    const limits = Object.fromEntries(
      (MethodSettings as Properties[]).map((each) => [
        `${each.HttpMethod} ${each.ResourcePath.slice(1).replaceAll("~1", "/")}`,
        { rate: each.ThrottlingRateLimit, burst: each.ThrottlingBurstLimit },
      ]),
    );

    const routes = routedEndpoints(endpoints, stage).flatMap((each) =>
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

  it("writes access logs as JSON, and never logs what is sent", () => {
    const { AccessLogSetting, MethodSettings } = template.one("ApiGateway::Stage").Properties;
    const line = JSON.parse(AccessLogSetting.Format.replace("$context.responseLatency", "12"));

    expect(line).toMatchObject({ requestId: "$context.requestId", status: "$context.status", milliseconds: 12 });
    expect(JSON.stringify(line)).not.toMatch(/cookie|header|body/i);
    // A quotation mark in it would break the line.
    expect(Object.values(line)).not.toContain("$context.path");
    expect((MethodSettings as Properties[]).map((each) => each.DataTraceEnabled)).not.toContain(true);
    expect(template.one("XRay::SamplingRule").Properties.SamplingRule.FixedRate).toBe(0.05);
  });
});

describe("A stage", () => {
  it("has no trace of images and sign-in without uploads and sign-in", () => {
    const { resources, text } = synthesis.template("colophon-dev");
    const types = new Set(resources.map(({ Type }) => Type.split("::")[1]));

    for (const type of ["S3", "CloudFront", "SQS", "SecretsManager"]) expect(types).not.toContain(type);
    expect(text).not.toMatch(/IMAGE_BUCKET|s3:|ops-invalidate-images|SIGN_IN|SignerSecret|\$\.signIn/);
  });

  it("takes its address from the request where it has no edge, and the cookie's properties from the settings", () => {
    const variablesOf = (template: Template, name: string) => lambdaIn(template, name).Properties.Environment.Variables;
    const [here, edge] = [changed.template("colophon-dev"), synthesis.template("colophon-prod")];
    const cookie = { SIGN_IN_COOKIE_DOMAIN: "example.com", SIGN_IN_SAME_SITE: "strict" };

    for (const each of ["sign-in-callback", "sign-out"])
      expect(variablesOf(here, `colophon-dev-${each}`)).toMatchObject(cookie);
    expect(here.text).not.toContain("SIGN_IN_API_ADDRESS");
    const variables = variablesOf(edge, "colophon-prod-sign-in-callback");
    expect(variables).toMatchObject({ SIGN_IN_API_ADDRESS: "https://api.example.com", SIGN_IN_SAME_SITE: "lax" });
    const key = edge.all("SecretsManager::Secret").find(({ id }) => id.startsWith("SignIn"));
    expect(key?.Properties.GenerateSecretString.PasswordLength).toBe(64);
  });

  // As long as a stream may take, as the edge waits, or as API Gateway does.
  it.each([
    { name: "contributors-list", seconds: 120, concurrency: 25 },
    { name: "admin-roles-list", seconds: 120, concurrency: 25 },
    { name: "contributor-slug", seconds: 8, concurrency: 28 },
    { name: "admin-users-update-image", seconds: 29, concurrency: 5 },
    { name: "sign-in-callback", seconds: 29, concurrency: 10 },
    { name: "admin-roles-edit", seconds: 29, concurrency: undefined },
  ])("bounds $name to $seconds s, and to $concurrency at once", ({ name, seconds, concurrency }) => {
    const lambda = lambdaIn(synthesis.template("colophon-prod"), `colophon-prod-${name}`).Properties;

    expect([lambda.Timeout, lambda.ReservedConcurrentExecutions]).toEqual([seconds, concurrency]);
  });
});
