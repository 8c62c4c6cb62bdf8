import { Annotations, CfnRule, Duration, Fn, type Stack } from "aws-cdk-lib";
import type { Function as Lambda } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import {
  type Declaration,
  functionName,
  isCacheable,
  isNavigation,
  isPublicRecord,
} from "../../../lib/contract/declare.ts";
import type { Owner } from "../../../lib/images/keys.ts";
import { isServed } from "../../api/document.ts";
import type { Packaged } from "../../build/package.ts";
import type { StageSettings } from "../../settings/schema.ts";
import { type Cluster, databaseResource } from "../database/database.ts";
import { notifyingEdge } from "../edge/edge-invalidation.ts";
import {
  bufferedTimeout,
  type FunctionProps,
  functionNamed,
  longTimeout,
  makeFunction,
  publicRecordTimeout,
  type Resource,
  schedule,
} from "../shared/service-function.ts";
import type { Images } from "../sites/images.ts";
import type { SignIn } from "./sign-in.ts";

type OwnProps = Omit<FunctionProps, "prefix" | "log" | "packaged" | "timeout" | "resources"> & {
  /** @default the longest that Lambda allows */
  readonly timeout?: Duration;
  readonly resources: (packaged: Packaged) => readonly Resource[];
};

export interface Scheduled extends OwnProps {
  readonly every: Duration;
  readonly payload?: object;
}

export type StageFunctions = ReturnType<typeof stageFunctions>;

/** Makes the functions of a stage in constructs, by their names. */
export function stageFunctions(
  stack: Stack,
  packages: readonly Packaged[],
  common: Pick<FunctionProps, "prefix" | "log">,
) {
  const make = (scope: Construct, name: string, { resources, ...props }: OwnProps): Lambda => {
    const packaged = functionNamed(packages, name);
    if (!packaged.isComplete) refuseDeployment(stack);
    return makeFunction(scope, { timeout: longTimeout, ...common, ...props, packaged, resources: resources(packaged) });
  };
  const makeScheduled = (scope: Construct, name: string, { every, payload, ...props }: Scheduled): Lambda => {
    const lambda = make(new Construct(scope, "Function"), name, props);
    schedule(scope, lambda, every, props.description, payload);
    return lambda;
  };
  return { make, makeScheduled };
}

export interface EndpointsProps {
  readonly settings: StageSettings;
  readonly cluster: Cluster;
  /** The prefix of all names: `colophon-prod`. */
  readonly prefix: string;
  /** On a stage with uploads. */
  readonly images: Images | undefined;
  /** On a stage where people sign in. */
  readonly signIn: SignIn | undefined;
}

/** The functions of the endpoints that a stage serves, by name. */
export function makeEndpoints(
  stack: Stack,
  { make }: StageFunctions,
  endpoints: readonly Declaration[],
  { settings, cluster, prefix, images, signIn }: EndpointsProps,
): ReadonlyMap<string, Lambda> {
  const { allowedOrigins, imageDomain, edge } = settings;
  const ofStage = {
    variables: { ALLOWED_ORIGINS: allowedOrigins.join(","), IMAGE_BASE_URL: `https://${imageDomain}` },
  };
  const resourcesOf = (declaration: Declaration) => (packaged: Packaged) => {
    const hasImages = declaration.needsFileService || declaration.deletesImage;
    return [
      ofStage,
      // To begin to sign in needs no database.
      ...(packaged.variables.has("DATABASE_CLUSTER_ARN") ? [databaseResource(cluster, packaged)] : []),
      ...(hasImages && images ? [images.resourceFor([ownerOf(declaration.path)], packaged)] : []),
      ...(declaration.needsSignIn && signIn ? [signIn(packaged)] : []),
      // An edge keeps responses for long, since it is told when they are stale.
      ...(edge && isCacheable(declaration)
        ? [{ variables: { SHARED_CACHE_SECONDS: `${edge.sharedCacheSeconds}` } }]
        : []),
      ...(edge && declaration.changesPublic ? [notifyingEdge(stack, prefix)] : []),
    ];
  };
  const served = endpoints.filter((each) => isServed(each, settings));
  return new Map(
    served.map((declaration) => {
      const name = functionName(declaration);
      const lambda = make(new Construct(stack, name), name, {
        description: declaration.summary,
        resources: resourcesOf(declaration),
        ...boundsOf(declaration, settings),
      });
      return [name, lambda];
    }),
  );
}

/** How long an endpoint's function may run, and how many may run at once: visitors leave room for the panel. */
function boundsOf(
  declaration: Declaration,
  { streams, publicRecords, images, signIn }: StageSettings,
): Pick<FunctionProps, "timeout" | "concurrent"> {
  if ("list" in declaration.response)
    return { timeout: Duration.seconds(streams.secondsMax), concurrent: streams.concurrent };
  if (isPublicRecord(declaration)) return { timeout: publicRecordTimeout, concurrent: publicRecords.concurrent };
  // An image may take seconds.
  if (declaration.needsFileService) return { timeout: bufferedTimeout, concurrent: images.concurrent };
  // The provider decides how long it takes, and strangers how often it is asked.
  if (isNavigation(declaration)) return { timeout: bufferedTimeout, concurrent: signIn?.concurrent ?? null };
  return { timeout: bufferedTimeout };
}

/** Whether an endpoint changes images of users or of contributors. */
const ownerOf = (path: string): Owner => (path.startsWith("/admin-users/") ? "users" : "contributors");

/** The template is synthesised, but neither the CDK nor CloudFormation deploys it. */
function refuseDeployment(stack: Stack): void {
  if (stack.node.tryFindChild("Complete")) return;
  const reason = "sharp for linux-arm64 is missing: run `npm run package` first.";
  Annotations.of(stack).addError(reason);
  new CfnRule(stack, "Complete").addAssertion(Fn.conditionEquals("incomplete", "complete"), reason);
}
