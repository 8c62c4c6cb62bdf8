import { ManagedPolicy, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import { acknowledge } from "./acknowledge.ts";

/** A role of a service, which nobody else can assume, with the policy that AWS keeps for that. */
export function makeServiceRole(scope: Construct, id: string, service: string, policy: string, reason: string): Role {
  const role = new Role(scope, id, {
    assumedBy: new ServicePrincipal(service),
    managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName(`service-role/${policy}`)],
  });
  const finding = `AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/${policy}]`;
  acknowledge(role, { [finding]: reason });
  return role;
}
