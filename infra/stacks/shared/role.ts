import {
  type IPrincipal,
  ManagedPolicy,
  PolicyDocument,
  PolicyStatement,
  type PolicyStatementProps,
  Role,
  type RoleProps,
  ServicePrincipal,
} from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import { acknowledge, acknowledgeWildcards } from "./acknowledge.ts";

/** IAM statements, by the names of the inline policies that they make. */
export type Policies = Readonly<Record<string, readonly PolicyStatementProps[]>>;

/** A role with these rights alone. */
export function makeRole(
  scope: Construct,
  id: string,
  assumedBy: IPrincipal,
  policies: Policies,
  props: Partial<RoleProps> = {},
): Role {
  const documents = Object.entries(policies).map(([name, statements]) => [
    name,
    new PolicyDocument({ statements: statements.map((each) => new PolicyStatement(each)) }),
  ]);
  const role = new Role(scope, id, { ...props, assumedBy, inlinePolicies: Object.fromEntries(documents) });
  const arns = Object.values(policies).flatMap((statements) => statements.flatMap(({ resources = [] }) => resources));
  acknowledgeWildcards(role, arns, "Tests list all rights of each role (test/infra/stacks/policies.test.ts).");
  return role;
}

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
