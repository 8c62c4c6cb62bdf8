import { dirname } from "node:path";
import { Duration, Stack } from "aws-cdk-lib";
import { type Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import * as lambda from "aws-cdk-lib/aws-lambda";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import type { Packaged } from "../../build/package.ts";
import { makeRole, type Policies } from "./role.ts";

/**
 * A resource that functions use: the environment variables that identify it, and the IAM statements to use it. A function
 * that reads none of its variables does not get it.
 */
export interface Resource {
  readonly variables?: Readonly<Record<string, string>>;
  readonly policies?: Policies;
  /** The role of all functions in a stack that use this resource and no other. Without it each has its own. */
  readonly role?: string;
}

/** Some resources depend on what a function does with them. */
export type GivenResource = Resource | ((packaged: Packaged) => Resource);

export interface FunctionProps extends Pick<lambda.FunctionOptions, "memorySize" | "retryAttempts" | "maxEventAge"> {
  /** The prefix of the names of all functions of a stack: `colophon-prod`. */
  readonly prefix: string;
  readonly packaged: Packaged;
  /** @default the bundle's */
  readonly name?: string;
  readonly description: string;
  /** What it may use: of what it gets, it gets the variables that it reads, and all IAM statements. */
  readonly resources: readonly GivenResource[];
  readonly timeout: Duration;
  /**
   * Reserved concurrency: at least and at most so many invocations can run at the same time.
   * @default null: the account's unreserved concurrency
   */
  readonly concurrent?: number | null;
  /** Its log group, which all functions of a stack share. */
  readonly log: LogGroup;
}

/** A function mostly waits for the database. */
const leastInMegabytes = 512;
/** With this much memory a function has a whole vCPU, and below it in proportion; images are processed with it. */
export const wholeCpuInMegabytes = 1_769;

/**
 * The role of a function. Older versions keep it, so its id depends on no right that the next release may add: a
 * function that needs more gets a role of its own, and the shared one stays.
 */
function roleOf(scope: Construct, resources: readonly Resource[], policies: Policies): Role {
  const [only, another] = resources.filter((each) => each.policies);
  const isShared = only?.role !== undefined && !another;
  const [owner, id] = isShared ? [Stack.of(scope), only.role] : [scope, "Role"];
  const existing = owner.node.tryFindChild(id) as Role | undefined;
  return existing ?? makeRole(owner, id, new ServicePrincipal("lambda.amazonaws.com"), policies);
}

/**
 * A Lambda function whose role may write the log and use the given resources, and nothing else. So the role has no
 * managed policy, and the function does not trace: `xray:PutTraceSegments` has to be allowed on all resources. API
 * Gateway traces each request, including the time in the function.
 */
export function makeFunction(scope: Construct, props: FunctionProps): lambda.Function {
  const { prefix, packaged, name = packaged.name, resources: given, concurrent, log, ...options } = props;
  const isRead = (variable: string) => packaged.variables.has(variable);
  const resources = given
    .map((each) => (typeof each === "function" ? each(packaged) : each))
    .filter(({ variables }) => !variables || Object.keys(variables).some(isRead));
  const writeLog = { actions: ["logs:CreateLogStream", "logs:PutLogEvents"], resources: [log.logGroupArn] };
  const policies: Policies = Object.assign({ WriteLog: [writeLog] }, ...resources.map((each) => each.policies));
  const variables = resources
    .flatMap(({ variables = {} }) => Object.entries(variables))
    .filter(([name]) => isRead(name));
  return new lambda.Function(scope, "Function", {
    functionName: `${prefix}-${name}`,
    runtime: lambda.Runtime.NODEJS_24_X,
    // A fifth cheaper than x86_64.
    architecture: lambda.Architecture.ARM_64,
    handler: "index.handler",
    // Source maps are for this machine.
    code: lambda.Code.fromAsset(dirname(packaged.file), { exclude: ["*.map"] }),
    memorySize: packaged.processesImages ? wholeCpuInMegabytes : leastInMegabytes,
    role: roleOf(scope, resources, policies),
    logGroup: log,
    ...(concurrent ? { reservedConcurrentExecutions: concurrent } : {}),
    // The functions write lines of JSON, which Lambda must not wrap; Logs Insights finds their fields.
    loggingFormat: lambda.LoggingFormat.TEXT,
    environment: Object.fromEntries(variables),
    ...options,
  });
}

/** @throws if there is none of this name */
export function functionNamed(packages: readonly Packaged[], name: string): Packaged {
  const packaged = packages.find((each) => each.name === name);
  if (!packaged) throw new Error(`There is no function ${name}`);
  return packaged;
}

/** API Gateway waits 29 s for a buffered response. */
export const bufferedTimeout = Duration.seconds(29);
/** As long as the edge waits (../edge/edge.ts). The function itself gives up before (lib/aws/retry.ts). */
export const publicRecordTimeout = Duration.seconds(8);
/** Lambda's maximum, for operators' functions. */
export const longTimeout = Duration.minutes(15);
