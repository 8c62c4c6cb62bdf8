import { CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import { CfnAccount } from "aws-cdk-lib/aws-apigateway";
import { ManagedPolicy, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import { acknowledge } from "./acknowledge.ts";

/** What API Gateway needs once in an account and region before any stage of any API can write logs. */
export class AccountStack extends Stack {
  constructor(scope: Construct, id: string, props: Pick<StackProps, "env" | "tags">) {
    super(scope, id, {
      ...props,
      description: "Colophon: API Gateway's role for logs, one for the account and region",
    });
    const role = new Role(this, "LogRole", {
      assumedBy: new ServicePrincipal("apigateway.amazonaws.com"),
      managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName("service-role/AmazonAPIGatewayPushToCloudWatchLogs")],
    });
    acknowledge(role, {
      "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]":
        "API Gateway takes no role for its logs that may do less than this policy of AWS. Only API Gateway can assume it.",
    });
    new CfnAccount(this, "Account", { cloudWatchRoleArn: role.roleArn });
    new CfnOutput(this, "LogRoleArn", { value: role.roleArn });
  }
}
