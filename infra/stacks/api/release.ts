import type { Alarm } from "aws-cdk-lib/aws-cloudwatch";
import { LambdaApplication, LambdaDeploymentConfig, LambdaDeploymentGroup } from "aws-cdk-lib/aws-codedeploy";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Alias, type IVersion, type Function as Lambda } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { acknowledge } from "../shared/acknowledge.ts";

export interface GradualReleaseProps {
  readonly alarms: readonly Alarm[];
  /**
   * The snapshot that the database was restored from. Lambda publishes a new version only if the function's template
   * has changed. The template does not contain the cluster, which is a parameter, but it changes with the snapshot.
   */
  readonly snapshot: string | undefined;
}

/**
 * Moves traffic to a function's new version: a tenth for five minutes, then all of it. If one of the alarms fires
 * during that time, CodeDeploy moves the traffic back, the deployment fails, and CloudFormation rolls back the stack.
 */
export class GradualRelease extends Construct {
  readonly #application: LambdaApplication;
  readonly #role: Role;
  readonly #alarms: readonly Alarm[];
  readonly #snapshot: string | undefined;

  constructor(scope: Construct, id: string, { alarms, snapshot }: GradualReleaseProps) {
    super(scope, id);
    this.#alarms = alarms;
    this.#snapshot = snapshot;
    this.#application = new LambdaApplication(this, "Application");
    this.#role = new Role(this, "Role", { assumedBy: new ServicePrincipal("codedeploy.amazonaws.com") });
    acknowledge(this.#role, {
      "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited]":
        "The policy that AWS keeps for exactly this service role, in its limited form: CodeDeploy moves aliases and reads alarms. Nobody but CodeDeploy can assume the role.",
    });
  }

  /** @returns the alias of the released version */
  of(lambda: Lambda): Alias {
    if (this.#snapshot) lambda.invalidateVersionBasedOn(this.#snapshot);
    const alias = new Alias(lambda, "Live", { aliasName: "live", version: lambda.currentVersion as IVersion });
    new LambdaDeploymentGroup(lambda, "Deployment", {
      application: this.#application,
      alias,
      role: this.#role,
      alarms: [...this.#alarms],
      deploymentConfig: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
    });
    return alias;
  }
}
