import { Duration } from "aws-cdk-lib";
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
import type { StageSettings } from "../../settings/schema.ts";
import { notifyingEdge } from "../edge/edge-invalidation.ts";
import {
  bufferedTimeout,
  type FunctionProps,
  type GivenResource,
  publicRecordTimeout,
} from "../shared/service-function.ts";
import type { Images } from "../sites/images.ts";
import type { Stage } from "./stage.ts";

/**
 * The functions of the endpoints that a stage serves, by name.
 * @param images on a stage with uploads
 * @param signIn on a stage where people sign in
 */
export function makeEndpoints(
  { stack, settings, prefix, endpoints, make }: Stage,
  images: Images | undefined,
  signIn: GivenResource | undefined,
): ReadonlyMap<string, Lambda> {
  const { allowedOrigins, imageDomain, edge } = settings;
  const ofStage = {
    variables: { ALLOWED_ORIGINS: allowedOrigins.join(","), IMAGE_BASE_URL: `https://${imageDomain}` },
  };
  const resourcesOf = (declaration: Declaration): GivenResource[] => {
    const hasImages = declaration.needsFileService || declaration.deletesImage;
    return [
      ofStage,
      ...(hasImages && images ? [images.resourceFor([ownerOf(declaration.path)])] : []),
      ...(declaration.needsSignIn && signIn ? [signIn] : []),
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
