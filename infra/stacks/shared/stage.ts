import { Annotations, CfnRule, type Duration, Fn, type Stack } from "aws-cdk-lib";
import { Rule, RuleTargetInput, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction } from "aws-cdk-lib/aws-events-targets";
import type { AliasOptions, IFunction, Function as Lambda } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { bundleOf } from "../../api/whole-lists.ts";
import type { Packaged } from "../../build/package.ts";
import type { StageSettings } from "../../settings/schema.ts";
import { Alarms } from "./alarms.ts";
import { globalPrefix } from "./global-prefix.ts";
import { makeFunctionLog } from "./log.ts";
import { metricsOf } from "./metrics.ts";
import { type FunctionProps, functionNamed, longTimeout, makeFunction, type Resource } from "./service-function.ts";

/** The alias of the version that gets the traffic. */
export const aliasName = "live";

export interface StageProps {
  readonly settings: StageSettings;
  readonly packages: readonly Packaged[];
  /** The database for a function that asks it. */
  readonly databaseOf: (packaged: Packaged) => Resource;
}

type OwnProps = Omit<FunctionProps, "prefix" | "log" | "packaged" | "name" | "timeout"> & {
  /** @default the longest that Lambda allows */
  readonly timeout?: Duration;
};

/** A function of which each release has a version. */
export interface Released {
  readonly name: string;
  readonly lambda: Lambda;
  /** Those of asynchronous invocations belong to the alias that is invoked. */
  readonly options: Pick<AliasOptions, "retryAttempts" | "maxEventAge">;
  /** Makes what invokes the released version. */
  readonly connect: (live: IFunction) => void;
}

interface Scheduled extends OwnProps {
  readonly every: Duration;
  readonly payload?: object;
}

export type Stage = ReturnType<typeof openStage>;

/** What all parts of a stage's stack use. */
export function openStage(stack: Stack, { settings, packages, databaseOf }: StageProps) {
  const prefix = `colophon-${settings.name}`;
  const log = makeFunctionLog(stack, settings.name, settings);

  /** Makes the function of this name in a construct, with the database if it asks it. */
  const make = (scope: Construct, name: string, { resources, ...props }: OwnProps): Lambda => {
    const packaged = functionNamed(packages, bundleOf(name));
    if (!packaged.isComplete) refuseDeployment(stack);
    const all = [databaseOf, ...resources];
    return makeFunction(scope, { timeout: longTimeout, prefix, log, ...props, name, packaged, resources: all });
  };

  const released: Released[] = [];

  /** Makes one of which each release has a version. */
  const makeReleased = (
    scope: Construct,
    name: string,
    { retryAttempts, maxEventAge, ...props }: OwnProps,
    connect: Released["connect"] = () => {},
  ): Lambda => {
    const lambda = make(scope, name, props);
    const options = {
      ...(retryAttempts === undefined ? {} : { retryAttempts }),
      ...(maxEventAge ? { maxEventAge } : {}),
    };
    released.push({ name, lambda, options, connect });
    return lambda;
  };

  /** Makes one whose released version runs by schedule, too. */
  const makeScheduled = (scope: Construct, name: string, { every, payload = {}, ...props }: Scheduled): Lambda =>
    makeReleased(new Construct(scope, "Function"), name, props, (live) => {
      const rule = new Rule(scope, "Rule", { schedule: Schedule.rate(every), description: props.description });
      rule.addTarget(new LambdaFunction(live, { event: RuleTargetInput.fromObject(payload) }));
    });

  return {
    stack,
    settings,
    /** The prefix of all names: `colophon-prod`. */
    prefix,
    /** That of global names. */
    unique: globalPrefix(prefix, stack.region),
    /** The log of all functions. */
    log,
    alarms: new Alarms(stack, "Alarms", { prefix, recipients: settings.alarmRecipient }),
    metrics: metricsOf(prefix),
    make,
    makeReleased,
    makeScheduled,
    released,
    /**
     * The ARN of the released version of a function. By its name: an alias depends on the whole release, of which some
     * functions know the distribution and so the API.
     */
    liveArnOf: (name: string) =>
      stack.formatArn({ service: "lambda", resource: `function:${prefix}-${name}:${aliasName}` }),
  };
}

/** The template is synthesised, but neither the CDK nor CloudFormation deploys it. */
function refuseDeployment(stack: Stack): void {
  if (stack.node.tryFindChild("Complete")) return;
  const reason = "sharp for linux-arm64 is missing: run `npm run package` first.";
  Annotations.of(stack).addError(reason);
  new CfnRule(stack, "Complete").addAssertion(Fn.conditionEquals("incomplete", "complete"), reason);
}
