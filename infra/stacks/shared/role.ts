import * as iam from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import { acknowledge, acknowledgeWildcards } from "./acknowledge.ts";

/** IAM statements, by the names of the inline policies that they make. */
export type Policies = Readonly<Record<string, readonly iam.PolicyStatementProps[]>>;

/** A role with these rights alone. */
export function makeRole(
  scope: Construct,
  id: string,
  assumedBy: iam.IPrincipal,
  policies: Policies,
  props: Partial<iam.RoleProps> = {},
): iam.Role {
  const documents = Object.entries(policies).map(([name, statements]) => {
    return [name, new iam.PolicyDocument({ statements: statements.map((each) => new iam.PolicyStatement(each)) })];
  });
  const role = new iam.Role(scope, id, { ...props, assumedBy, inlinePolicies: Object.fromEntries(documents) });
  const arns = Object.values(policies).flatMap((statements) => statements.flatMap(({ resources = [] }) => resources));
  acknowledgeWildcards(role, arns, "Tests list all rights of each role (test/infra/stacks/policies.test.ts).");
  return role;
}

/** A role of a service, which nobody else can assume, with the policy that AWS keeps for that. */
export function makeServiceRole(scope: Construct, id: string, service: string, policy: string, reason: string) {
  const role = new iam.Role(scope, id, {
    assumedBy: new iam.ServicePrincipal(service),
    managedPolicies: [iam.ManagedPolicy.fromAwsManagedPolicyName(`service-role/${policy}`)],
  });
  const finding = `AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/${policy}]`;
  acknowledge(role, { [finding]: reason });
  return role;
}
