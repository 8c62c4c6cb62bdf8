import type { Duration } from "aws-cdk-lib";
import { Rule, RuleTargetInput, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction } from "aws-cdk-lib/aws-events-targets";
import { Construct } from "constructs";
import { longTimeout, ServiceFunction, type ServiceFunctionProps } from "./service-function.ts";

export interface ScheduledFunctionProps extends Omit<ServiceFunctionProps, "timeout"> {
  readonly every: Duration;
  readonly payload: object;
}

/** An operators' function that also runs by schedule. */
export class ScheduledFunction extends Construct {
  readonly serviceFunction: ServiceFunction;

  constructor(scope: Construct, id: string, { every, payload, ...props }: ScheduledFunctionProps) {
    super(scope, id);
    this.serviceFunction = new ServiceFunction(this, "Function", { ...props, timeout: longTimeout });
    const rule = new Rule(this, "Rule", { schedule: Schedule.rate(every), description: props.description });
    rule.addTarget(new LambdaFunction(this.serviceFunction.lambda, { event: RuleTargetInput.fromObject(payload) }));
  }
}
