import { Validations } from "aws-cdk-lib";
import type { IConstruct } from "constructs";

/** Accepts findings of cdk-nag in a construct; `reasons` has the reason for each rule. */
export function acknowledge(construct: IConstruct, reasons: Readonly<Record<string, string>>): void {
  for (const [id, reason] of Object.entries(reasons)) Validations.of(construct).acknowledge({ id, reason });
}

/** The id of cdk-nag's finding that an ARN has a wildcard. Tokens of the CDK become their names. */
export const wildcardFinding = (arn: string): string =>
  `AwsSolutions-IAM5[Resource::${arn.replace(/\$\{Token\[AWS\.(\w+)\.\d+\]\}/g, "<AWS::$1>")}]`;
