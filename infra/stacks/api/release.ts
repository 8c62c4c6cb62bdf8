import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ArnFormat, RemovalPolicy, Stack } from "aws-cdk-lib";
import type { Alarm } from "aws-cdk-lib/aws-cloudwatch";
import {
  type CfnApplication,
  LambdaApplication,
  LambdaDeploymentConfig,
  LambdaDeploymentGroup,
} from "aws-cdk-lib/aws-codedeploy";
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import {
  Alias,
  type CfnAlias,
  type CfnFunction,
  type CfnVersion,
  type IFunction,
  type IVersion,
  type Function as Lambda,
  type Version,
} from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { acknowledge, wildcardFinding } from "../shared/acknowledge.ts";
import type { Resource, ServiceFunction } from "../shared/service-function.ts";

export interface GradualReleaseProps {
  /** The prefix of the functions' names: `colophon-prod`. */
  readonly prefix: string;
  /** All functions of endpoints, by name. */
  readonly functions: ReadonlyMap<string, ServiceFunction>;
  readonly alarms: readonly Alarm[];
  /** What the database was restored from: functions ask another cluster then, which is a parameter. */
  readonly restoredFrom: string | undefined;
  /** Moves all traffic at once, whatever the alarms say (infra/README.md, "Update"). */
  readonly isUrgent: boolean;
  /** Makes the function that tries a version before it gets traffic. */
  readonly makeVerification: (resource: Resource) => ServiceFunction;
}

/**
 * Moves the traffic of a stage to a new release. CodeDeploy has the new version of each function tried, gives it a tenth
 * of the traffic for five minutes, then all. If one of the alarms fires during that time, CodeDeploy moves the traffic
 * back, the deployment fails, and CloudFormation rolls back the stack. Versions stay, so that `npm run rollback` can go
 * back to them.
 */
export class GradualRelease extends Construct {
  /** The aliases of the released versions, by the functions' names. */
  readonly aliases: ReadonlyMap<string, IFunction>;

  constructor(scope: Construct, id: string, props: GradualReleaseProps) {
    super(scope, id);
    const { prefix, functions, alarms, restoredFrom, isUrgent, makeVerification } = props;
    nameRelease(
      [...functions.values()].map(({ lambda }) => lambda),
      restoredFrom,
    );
    const application = new LambdaApplication(this, "Application");
    const verification = makeVerification(verificationResource(application, prefix, [...functions.keys()]));
    const role = this.makeRole(verification.lambda);
    const deploy = (lambda: Lambda) => {
      const alias = new Alias(lambda, "Live", { aliasName: "live", version: lambda.currentVersion as IVersion });
      const group = new LambdaDeploymentGroup(lambda, "Deployment", {
        application,
        alias,
        role,
        alarms: [...alarms],
        deploymentConfig: isUrgent
          ? LambdaDeploymentConfig.ALL_AT_ONCE
          : LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
        ignoreAlarmConfiguration: isUrgent,
      });
      // The construct's own way would give the hook's role a statement for each function.
      (alias.node.defaultChild as CfnAlias).cfnOptions.updatePolicy = {
        codeDeployLambdaAliasUpdate: {
          applicationName: application.applicationName,
          deploymentGroupName: group.deploymentGroupName,
          beforeAllowTrafficHook: verification.lambda.functionName,
        },
      };
      return alias as IFunction;
    };
    this.aliases = new Map([...functions].map(([name, { lambda }]) => [name, deploy(lambda)]));
  }

  private makeRole(verification: Lambda): Role {
    const invoke = new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources: [verification.functionArn] });
    const role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal("codedeploy.amazonaws.com"),
      inlinePolicies: { Verify: new PolicyDocument({ statements: [invoke] }) },
    });
    acknowledge(role, {
      "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited]":
        "The policy that AWS keeps for exactly this service role, in its limited form: CodeDeploy moves aliases and reads alarms. Nobody but CodeDeploy can assume the role.",
    });
    return role;
  }
}

/** The deployments that the hook decides, and the versions that it tries or deletes. */
function verificationResource(application: LambdaApplication, prefix: string, names: readonly string[]): Resource {
  const { stack, applicationName } = application;
  const arnOf = (service: string, resource: string, resourceName: string) =>
    stack.formatArn({ service, resource, resourceName, arnFormat: ArnFormat.COLON_RESOURCE_NAME });
  const id = stack.getLogicalId(application.node.defaultChild as CfnApplication);
  const deployments = arnOf("codedeploy", "deploymentgroup", `${applicationName}/*`);
  const functions = arnOf("lambda", "function", `${prefix}-*`);
  // A right to all versions of a function is none to the function itself.
  const versions = names.map((name) => arnOf("lambda", "function", `${prefix}-${name}:*`));
  const allow = (actions: string[], ...resources: string[]) => new PolicyStatement({ actions, resources });
  return {
    variables: { FUNCTION_PREFIX: `${prefix}-` },
    policies: {
      DecideReleases: [
        allow(["codedeploy:GetDeployment", "codedeploy:PutLifecycleEventHookExecutionStatus"], deployments),
        allow(["codedeploy:GetApplicationRevision"], arnOf("codedeploy", "application", applicationName)),
      ],
      TryVersions: [
        allow(["lambda:InvokeFunction", "lambda:DeleteFunction"], ...versions),
        allow(["lambda:ListAliases", "lambda:ListVersionsByFunction"], functions),
      ],
    },
    reasons: Object.fromEntries([
      ...versions.map((arn) => [wildcardFinding(arn), "The numbers of versions are Lambda's."]),
      [wildcardFinding(functions), "Lists versions and aliases of the stage's functions, and changes nothing."],
      [
        wildcardFinding(arnOf("codedeploy", "deploymentgroup", `<${id}>/*`)),
        "All deployment groups of the stage's own application.",
      ],
    ]),
  };
}

/**
 * Gives all functions the name of the release, a digest of all their templates, in their descriptions. So each release
 * has a version of every function, with that name, and the stage can go back to a release as a whole.
 */
function nameRelease(lambdas: readonly Lambda[], restoredFrom: string | undefined): void {
  const migration = lastMigration();
  const digest = createHash("sha256").update(JSON.stringify([migration, restoredFrom ?? ""]));
  for (const lambda of lambdas) {
    // A version stays in Lambda when the next one takes its place in the template, but not if its release fails.
    lambda.currentVersion.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
    digest.update(templateDigest(lambda.currentVersion));
  }
  const release = `release ${digest.digest("hex").slice(0, 12)}, migration ${migration}`;
  for (const lambda of lambdas) {
    const resource = lambda.node.defaultChild as CfnFunction;
    resource.description = `${resource.description} (${release})`;
  }
}

/** A version's logical id ends in a digest of its function's template. */
const templateDigest = (version: Version): string =>
  Stack.of(version).resolve((version.node.defaultChild as CfnVersion).logicalId);

/** The number of the last migration, which this release expects: `11`. */
function lastMigration(): string {
  const files = readdirSync(join(import.meta.dirname, "../../../lib/migrations/tables"));
  return (
    files
      .flatMap((file) => /^(\d+)-.*\.sql$/.exec(file)?.[1] ?? [])
      .sort()
      .at(-1) ?? ""
  );
}
