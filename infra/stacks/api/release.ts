import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { CfnParameter, CustomResource, Stack } from "aws-cdk-lib";
import { Alias, type CfnFunction, type IFunction, type Function as Lambda, Version } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { untriedParameter } from "../../operate/untried.ts";
import { longTimeout, type Resource } from "../shared/service-function.ts";
import { aliasName, type Stage } from "../shared/stage.ts";

/**
 * Moves a stage to a new release. A custom resource publishes the new version of each function and tries it; only when
 * all of them respond as declared do the aliases move, all at once. Older versions stay, so that `npm run rollback` can
 * go back to them.
 * @param restoredFrom what the database was restored from: functions ask another cluster then, which is a parameter
 * @returns the aliases of the released versions
 */
export function makeRelease(
  { stack, prefix, make, released }: Stage,
  restoredFrom: string | undefined,
): readonly IFunction[] {
  const scope = new Construct(stack, "Release");
  const lambdas = released.map(({ lambda }) => lambda);
  const release = digestOf(lambdas, restoredFrom);
  const description = `release ${release}, migration ${lastMigration}`;
  for (const lambda of lambdas) {
    const resource = lambda.node.defaultChild as CfnFunction;
    resource.description = `${resource.description} (${description})`;
  }
  // CloudFormation invokes it in each deployment of a release.
  const publisher = make(new Construct(stack, "Releasing"), "ops-release-on-deploy", {
    description: "Publishes new versions of functions and tries them, before they get traffic",
    resources: [publishing(stack, prefix)],
    // A version that failed would fail again.
    retryAttempts: 0,
  });
  const untried = new CfnParameter(stack, untriedParameter, {
    default: "false",
    allowedValues: ["false", "true"],
    description: "Releases versions without a trial, while the database does not respond",
  });
  const versions = new CustomResource(scope, "Versions", {
    resourceType: "Custom::Release",
    serviceToken: publisher.functionArn,
    // References, so that CloudFormation updates the functions first.
    properties: {
      Release: release,
      Functions: lambdas.map(({ functionName }) => functionName),
      Untried: untried.valueAsString,
    },
    serviceTimeout: longTimeout,
  });
  return released.map(({ name, lambda, options, connect }) => {
    const version = Version.fromVersionAttributes(scope, name, { lambda, version: versions.getAttString(name) });
    // The description changes with each release, so each deployment of another one sets every alias.
    const live = new Alias(lambda, "Live", { aliasName, version, description, ...options }) as IFunction;
    connect(live);
    return live;
  });
}

/** The versions that a release publishes, tries and deletes. A right to versions is none to the function itself. */
function publishing(stack: Stack, prefix: string): Resource {
  const functions = stack.formatArn({ service: "lambda", resource: `function:${prefix}-*` });
  const allow = (resource: string, ...actions: string[]) => ({
    actions: actions.map((each) => `lambda:${each}`),
    resources: [resource],
  });
  return {
    variables: { FUNCTION_PREFIX: `${prefix}-` },
    policies: {
      Publish: [
        allow(functions, "PublishVersion", "ListVersionsByFunction"),
        allow(`${functions}:*`, "InvokeFunction", "GetFunctionConfiguration", "DeleteFunction"),
      ],
    },
  };
}

/** The name of a release: a digest of all that becomes part of its versions. */
function digestOf(lambdas: readonly Lambda[], restoredFrom: string | undefined): string {
  const digest = createHash("sha256").update(JSON.stringify([lastMigration, restoredFrom ?? ""]));
  for (const lambda of lambdas) {
    const resource = lambda.node.defaultChild as CfnFunction;
    const { Resources } = Stack.of(lambda).resolve(resource._toCloudFormation());
    const [template] = Object.values<{ Properties: object }>(Resources);
    digest.update(JSON.stringify({ ...template?.Properties, ReservedConcurrentExecutions: undefined }));
  }
  return digest.digest("hex").slice(0, 12);
}

/** The number of the last migration, which this release expects: `11`. */
const lastMigration = readdirSync(join(import.meta.dirname, "../../../lib/migrations/tables"))
  .flatMap((file) => /^(\d+)-.*\.sql$/.exec(file)?.[1] ?? [])
  .sort()
  .at(-1);
