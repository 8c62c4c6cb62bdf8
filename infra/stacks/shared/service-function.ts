import { dirname } from "node:path";
import { Duration } from "aws-cdk-lib";
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Architecture, Code, Function as Lambda, LoggingFormat, Runtime } from "aws-cdk-lib/aws-lambda";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import type { Packaged } from "../../build/package.ts";
import type { StageSettings } from "../../stages.ts";
import { acknowledge } from "./acknowledge.ts";

/** Something a function works with: the variables that tell where it is, and the right to use it. */
export interface Resource {
  readonly variables: Readonly<Record<string, string>>;
  readonly policies: Readonly<Record<string, PolicyStatement[]>>;
  /** Why a role may have these rights, where cdk-nag asks. */
  readonly reasons?: Readonly<Record<string, string>>;
}

export interface ServiceFunctionProps {
  /** Stands before the name of every function of a stack: `colophon-prod`. */
  readonly prefix: string;
  readonly packaged: Packaged;
  readonly description: string;
  /** It gets the variables of these that it reads, and the rights to all of them. */
  readonly resources: readonly Resource[];
  readonly timeout: Duration;
  /**
   * One vCPU comes with 1,769 MB, and below that in proportion.
   * @default 512, where what a function costs is least: most of its time it waits for the database
   */
  readonly memoryInMegabytes?: number;
  /**
   * How often Lambda tries again by itself when an asynchronous invocation fails.
   * @default 2, as Lambda does
   */
  readonly retries?: 0 | 1 | 2;
  /**
   * How many of it can run at once, whatever else does, and how many at most.
   * @default what the account has left
   */
  readonly concurrent?: number;
  /** Where it writes; functions of a stack share it. */
  readonly log: LogGroup;
}

const memoryInMegabytesDefault = 512;

/**
 * A Lambda with a role of its own. This may write the log and use the resources it was given, nothing
 * else: so neither the managed policies of AWS, nor tracing by the function, which would need a right on everything
 * (`xray:PutTraceSegments` knows no resources). API Gateway traces each request, the time in the function included.
 */
export class ServiceFunction extends Construct {
  readonly lambda: Lambda;

  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    super(scope, id);
    const { packaged, resources, log } = props;
    const writeLog = new PolicyStatement({
      actions: ["logs:CreateLogStream", "logs:PutLogEvents"],
      resources: [log.logGroupArn],
    });
    const policies = Object.assign({ WriteLog: [writeLog] }, ...resources.map((each) => each.policies));
    const role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
      inlinePolicies: documents(policies),
    });
    for (const { reasons } of resources) acknowledge(role, reasons ?? {});
    this.lambda = new Lambda(this, "Function", {
      functionName: `${props.prefix}-${packaged.name}`,
      description: props.description,
      runtime: Runtime.NODEJS_24_X,
      // A fifth cheaper than x86_64.
      architecture: Architecture.ARM_64,
      handler: "index.handler",
      code: Code.fromAsset(dirname(packaged.file)),
      memorySize: props.memoryInMegabytes ?? memoryInMegabytesDefault,
      timeout: props.timeout,
      role,
      logGroup: log,
      ...(props.retries === undefined ? {} : { retryAttempts: props.retries }),
      ...(props.concurrent === undefined ? {} : { reservedConcurrentExecutions: props.concurrent }),
      // Lines stay as the functions write them, JSON already; Logs Insights finds their fields.
      loggingFormat: LoggingFormat.TEXT,
      environment: {
        ...Object.fromEntries(
          resources.flatMap((each) => Object.entries(each.variables)).filter(([name]) => packaged.variables.has(name)),
        ),
        NODE_OPTIONS: "--enable-source-maps",
      },
    });
  }
}

const documents = (policies: Readonly<Record<string, PolicyStatement[]>>) =>
  Object.fromEntries(Object.entries(policies).map(([name, statements]) => [name, new PolicyDocument({ statements })]));

/** API Gateway waits 29 s for a buffered answer. */
export const bufferedTimeout = Duration.seconds(29);
/** Operators' functions may take as long as Lambda lets them. */
export const longTimeout = Duration.minutes(15);
/** So may streams, where the stage says nothing else. */
export const streamTimeout = ({ streams }: Pick<StageSettings, "streams">): Duration =>
  streams ? Duration.seconds(streams.secondsMax) : longTimeout;
