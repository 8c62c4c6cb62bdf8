import { Duration } from "aws-cdk-lib";
import { Rule, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction } from "aws-cdk-lib/aws-events-targets";
import { Construct } from "constructs";
import type { Packaged } from "../package.ts";
import { longTimeout, type Resource, ServiceFunction } from "./service-function.ts";

export interface RemovalScheduleProps {
  readonly prefix: string;
  readonly packaged: Packaged;
  readonly resources: readonly Resource[];
  readonly logRetentionDays: number;
  readonly isProtected: boolean;
}

/** Often enough for images of deleted people, seldom enough to cost nothing. */
const every = Duration.hours(6);

/** Removes the images that nothing refers to any more, time and again. */
export class RemovalSchedule extends Construct {
  readonly serviceFunction: ServiceFunction;

  constructor(scope: Construct, id: string, props: RemovalScheduleProps) {
    super(scope, id);
    this.serviceFunction = new ServiceFunction(this, "Function", {
      ...props,
      description: "Removes images that nothing refers to any more",
      timeout: longTimeout,
    });
    const rule = new Rule(this, "Rule", { schedule: Schedule.rate(every), description: "Removes old images" });
    rule.addTarget(new LambdaFunction(this.serviceFunction.lambda));
  }
}
