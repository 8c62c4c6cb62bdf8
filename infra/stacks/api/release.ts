import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { CustomResource, Stack } from "aws-cdk-lib";
import { Alias, type CfnFunction, type IFunction, type Function as Lambda, Version } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { longTimeout, type Resource } from "../shared/service-function.ts";
import type { Stage } from "./stage.ts";

/**
 * Moves a stage to a new release. A custom resource publishes the new version of each function and tries it; only when
 * all of them respond as declared do the aliases move, all at once. Older versions stay, so that `npm run rollback` can
 * go back to them.
 * @param functions all functions of endpoints, by name
 * @param restoredFrom what the database was restored from: functions ask another cluster then, which is a parameter
 * @returns the aliases of the released versions, by the functions' names
 */
export function makeRelease(
  { stack, prefix, make }: Stage,
  functions: ReadonlyMap<string, Lambda>,
  restoredFrom: string | undefined,
): ReadonlyMap<string, IFunction> {
  const scope = new Construct(stack, "Release");
  const lambdas = [...functions.values()];
  const release = digestOf(lambdas, restoredFrom);
  const description = `release ${release}, migration ${lastMigration}`;
  for (const lambda of lambdas) {
    const resource = lambda.node.defaultChild as CfnFunction;
    resource.description = `${resource.description} (${description})`;
  }
  // CloudFormation invokes it in each deployment of a release.
  const publisher = make(new Construct(stack, "Releasing"), "ops-release-on-deploy", {
    description: "Publishes new versions of functions and tries them, before they get traffic",
    resources: [publishing(stack, prefix, [...functions.keys()])],
    // A version that failed would fail again.
    retryAttempts: 0,
  });
  const versions = new CustomResource(scope, "Versions", {
    resourceType: "Custom::Release",
    serviceToken: publisher.functionArn,
    // References, so that CloudFormation updates the functions first.
    properties: { Release: release, Functions: lambdas.map(({ functionName }) => functionName) },
    serviceTimeout: longTimeout,
  });
  // The description changes with each release, so each deployment of another one sets every alias.
  const aliasOf = (name: string, lambda: Lambda): IFunction => {
    const version = Version.fromVersionAttributes(scope, name, { lambda, version: versions.getAttString(name) });
    return new Alias(lambda, "Live", { aliasName: "live", version, description }) as IFunction;
  };
  return new Map([...functions].map(([name, lambda]) => [name, aliasOf(name, lambda)]));
}

/** The versions that a release publishes, tries and deletes. */
function publishing(stack: Stack, prefix: string, names: readonly string[]): Resource {
  const arnOf = (name: string) => stack.formatArn({ service: "lambda", resource: `function:${name}` });
  const functions = arnOf(`${prefix}-*`);
  // A right to all versions of a function is none to the function itself. Their numbers are Lambda's.
  const versions = names.map((name) => arnOf(`${prefix}-${name}:*`));
  const allow = (resources: string[], ...actions: string[]) => ({
    actions: actions.map((each) => `lambda:${each}`),
    resources,
  });
  return {
    variables: { FUNCTION_PREFIX: `${prefix}-` },
    policies: {
      Publish: [
        allow([functions], "PublishVersion", "ListVersionsByFunction"),
        allow(versions, "InvokeFunction", "GetFunctionConfiguration", "DeleteFunction"),
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
