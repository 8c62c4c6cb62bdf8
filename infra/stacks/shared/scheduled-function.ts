import type { Duration } from "aws-cdk-lib";
import { Rule, RuleTargetInput, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction } from "aws-cdk-lib/aws-events-targets";
import type { Function as Lambda } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { longTimeout, ServiceFunction, type ServiceFunctionProps } from "./service-function.ts";

export interface ScheduledFunctionProps extends Omit<ServiceFunctionProps, "timeout"> {
  /** @default the longest that Lambda allows */
  readonly timeout?: Duration;
  readonly every: Duration;
  readonly payload: object;
}

/** An operators' function that also runs by schedule. */
export class ScheduledFunction extends Construct {
  readonly lambda: Lambda;
  readonly every: Duration;

  constructor(
    scope: Construct,
    id: string,
    { every, payload, timeout = longTimeout, ...props }: ScheduledFunctionProps,
  ) {
    super(scope, id);
    this.every = every;
    this.lambda = new ServiceFunction(this, "Function", { ...props, timeout }).lambda;
    const rule = new Rule(this, "Rule", { schedule: Schedule.rate(every), description: props.description });
    rule.addTarget(new LambdaFunction(this.lambda, { event: RuleTargetInput.fromObject(payload) }));
  }
}
