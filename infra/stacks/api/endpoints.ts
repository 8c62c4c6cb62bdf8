import { Duration } from "aws-cdk-lib";
import { Construct } from "constructs";
import { type Declaration, functionName, isCacheable, isPublicRecord } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { isServed, routedEndpoints } from "../../api/document.ts";
import { concurrencyOf } from "../../settings/concurrency.ts";
import type { StageSettings } from "../../settings/schema.ts";
import { bufferedTimeout, type GivenResource, publicRecordTimeout } from "../shared/service-function.ts";
import type { Stage } from "../shared/stage.ts";

/** What only some stages have. */
interface Given {
  /** On a stage with uploads. */
  readonly imagesOf: ((declaration: Declaration) => GivenResource) | undefined;
  /** On a stage where people sign in. */
  readonly signIn: GivenResource | undefined;
  /** On a stage with an edge, for functions that change what it keeps. */
  readonly invalidation: GivenResource | undefined;
}

/** Makes the functions of the endpoints that a stage serves. */
export function makeEndpoints(
  { stack, settings, makeReleased }: Stage,
  { imagesOf, signIn, invalidation }: Given,
): void {
  const { allowedOrigins, imageDomain, edge } = settings;
  const resourcesOf = (declaration: Declaration): GivenResource[] => [
    { variables: { ALLOWED_ORIGINS: allowedOrigins.join(","), IMAGE_BASE_URL: `https://${imageDomain}` } },
    ...(imagesOf ? [imagesOf(declaration)] : []),
    ...(signIn ? [signIn] : []),
    // An edge keeps responses for long, since it is told when they are stale.
    ...(edge && isCacheable(declaration)
      ? [{ variables: { SHARED_CACHE_SECONDS: `${edge.sharedCacheSeconds}` } }]
      : []),
    ...(invalidation && declaration.changesPublic ? [invalidation] : []),
  ];
  for (const declaration of routedEndpoints(endpoints, settings).filter((each) => isServed(each, settings))) {
    const name = functionName(declaration);
    makeReleased(new Construct(stack, name), name, {
      description: declaration.summary,
      resources: resourcesOf(declaration),
      timeout: timeoutOf(declaration, settings),
      concurrent: concurrencyOf(declaration, settings),
    });
  }
}

function timeoutOf(declaration: Declaration, { streams }: StageSettings): Duration {
  if ("list" in declaration.response) return Duration.seconds(streams.secondsMax);
  return isPublicRecord(declaration) ? publicRecordTimeout : bufferedTimeout;
}
