import { Stack, Validations } from "aws-cdk-lib";
import { flattenCfnReference } from "cdk-nag/lib/utils/flatten-cfn-reference.js";
import type { IConstruct } from "constructs";

/** Accepts findings of cdk-nag in a construct; `reasons` has the reason for each rule. */
export function acknowledge(construct: IConstruct, reasons: Readonly<Record<string, string>>): void {
  for (const [id, reason] of Object.entries(reasons)) Validations.of(construct).acknowledge({ id, reason });
}

/** Accepts that a construct has rights to all resources that match these ARNs. */
export function acknowledgeWildcards(construct: IConstruct, arns: readonly string[], reason: string): void {
  for (const arn of arns.map((each) => flattenCfnReference(Stack.of(construct).resolve(each))))
    if (arn.includes("*")) acknowledge(construct, { [`AwsSolutions-IAM5[Resource::${arn}]`]: reason });
}
