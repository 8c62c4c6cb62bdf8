import type { Alarm } from "aws-cdk-lib/aws-cloudwatch";
import { LambdaApplication, LambdaDeploymentConfig, LambdaDeploymentGroup } from "aws-cdk-lib/aws-codedeploy";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Alias, type IVersion, type Function as Lambda } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { acknowledge } from "../shared/acknowledge.ts";

export interface GradualReleaseProps {
  readonly alarms: readonly Alarm[];
  /**
   * What the database began from. Lambda publishes a version where a function's template has changed, and no template
   * holds the address of the cluster, which functions read from parameters: so this brings them to a restored one.
   */
  readonly snapshot: string | undefined;
}

/**
 * Moves traffic to a function's new version step by step: a tenth for five minutes, then all of it. When one of the alarms
 * fires meanwhile, CodeDeploy moves the traffic back and the deployment fails, so CloudFormation takes back the rest as well.
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

  /** @returns the alias that always points to what is released */
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
