import { Validations } from "aws-cdk-lib";
import type { IConstruct } from "constructs";

/** Says of findings of cdk-nag in a construct why they are as they should be: reasons by rule. */
export function acknowledge(construct: IConstruct, reasons: Readonly<Record<string, string>>): void {
  for (const [id, reason] of Object.entries(reasons)) Validations.of(construct).acknowledge({ id, reason });
}
