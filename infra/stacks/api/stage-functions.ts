import { Annotations, CfnRule, Duration, Fn, type Stack } from "aws-cdk-lib";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import type { ISecret } from "aws-cdk-lib/aws-secretsmanager";
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
import { smokeRequests } from "../../smoke/requests.ts";
import { databaseResource, type FoundCluster } from "../database/database.ts";
import { notifyingEdge } from "../edge/edge-invalidation.ts";
import { ScheduledFunction } from "../shared/scheduled-function.ts";
import {
  bufferedTimeout,
  longTimeout,
  publicRecordTimeout,
  type Resource,
  ServiceFunction,
  type ServiceFunctionProps,
} from "../shared/service-function.ts";
import type { Images } from "../sites/images.ts";
import type { SignIn } from "./sign-in.ts";

export interface StageFunctionsProps {
  readonly settings: StageSettings;
  readonly packages: readonly Packaged[];
  readonly cluster: FoundCluster;
  /** The prefix of all names: `colophon-prod`. */
  readonly prefix: string;
  /** The log of all functions. */
  readonly log: LogGroup;
  /** On a stage with uploads. */
  readonly images: Images | undefined;
  /** On a stage where people sign in. */
  readonly signIn: SignIn | undefined;
}

/** With this much memory a function has a whole vCPU, which image processing uses. */
const imageMemoryInMegabytes = 1_769;

/** Makes the functions of a stage: those of its endpoints, and those that run by schedule. */
export class StageFunctions {
  readonly #stack: Stack;
  readonly #props: StageFunctionsProps;

  constructor(stack: Stack, props: StageFunctionsProps) {
    this.#stack = stack;
    this.#props = props;
  }

  /** The functions of these endpoints by name, without those of the file service and of sign-in on a stage without. */
  endpoints(declarations: readonly Declaration[]): ReadonlyMap<string, ServiceFunction> {
    const deployed = declarations.filter((each) => isServed(each, this.#props.settings));
    return new Map(deployed.map((each) => [functionName(each), this.#endpoint(each)]));
  }

  #endpoint(declaration: Declaration): ServiceFunction {
    const { settings, cluster, images, signIn, prefix } = this.#props;
    const name = functionName(declaration);
    const packaged = this.find(name);
    const hasImages = declaration.needsFileService || declaration.deletesImage;
    const imageResource = hasImages && images ? [images.resourceFor([ownerOf(declaration.path)], packaged)] : [];
    return new ServiceFunction(this.#stack, name, {
      ...this.#common(packaged),
      description: declaration.summary,
      resources: [
        this.#stageVariables,
        // To begin to sign in needs no database.
        ...(packaged.variables.has("DATABASE_CLUSTER_ARN") ? [databaseResource(cluster, packaged)] : []),
        ...imageResource,
        ...(declaration.needsSignIn && signIn ? [signIn(packaged)] : []),
        ...(settings.edge && isCacheable(declaration) ? [cachedAt(settings.edge)] : []),
        ...(settings.edge && declaration.changesPublic ? [notifyingEdge(this.#stack, prefix)] : []),
      ],
      ...boundsOf(declaration, settings),
      ...(packaged.processesImages ? { memoryInMegabytes: imageMemoryInMegabytes } : {}),
    });
  }

  /** Deleted people's images are removed within six hours; more runs would cost more. */
  removal(images: Images): ScheduledFunction {
    const packaged = this.find("ops-remove-images");
    return new ScheduledFunction(this.#stack, "Removal", {
      ...this.#common(packaged),
      description: "Removes images that nothing refers to any more",
      resources: [
        databaseResource(this.#props.cluster, packaged),
        images.resourceFor(["users", "contributors"], packaged),
      ],
      every: Duration.hours(6),
      payload: {},
    });
  }

  tidying(): ScheduledFunction {
    const packaged = this.find("ops-tidy");
    return new ScheduledFunction(this.#stack, "Tidying", {
      ...this.#common(packaged),
      description: "Forgets old changes, sessions and releases",
      resources: [databaseResource(this.#props.cluster, packaged)],
      every: Duration.days(1),
      payload: { days: this.#props.settings.changesRetentionDays },
    });
  }

  /** For operators, who invoke it. Where there are uploads, it restores deleted images, too. */
  undoing(): ServiceFunction {
    const { settings, cluster, images, prefix } = this.#props;
    const packaged = this.find("ops-undo");
    return new ServiceFunction(this.#stack, "Undoing", {
      ...this.#common(packaged),
      description: "Takes back what was changed by mistake",
      resources: [
        databaseResource(cluster, packaged),
        ...(images ? [images.restorationFor(["users", "contributors"])] : []),
        ...(settings.edge ? [notifyingEdge(this.#stack, prefix)] : []),
      ],
      timeout: longTimeout,
    });
  }

  /** CloudFormation invokes it in each deployment of a release. */
  releasing(resource: Resource): ServiceFunction {
    return new ServiceFunction(this.#stack, "Releasing", {
      ...this.#common(this.find("ops-release-on-deploy")),
      description: "Publishes new versions of functions and tries them, before they get traffic",
      resources: [resource],
      timeout: longTimeout,
      // A version that failed would fail again.
      retries: 0,
    });
  }

  smoke({ url, edgeUrl, door, everyMinutes, knownContributor }: SmokeProps): ScheduledFunction {
    const ask: Resource = door
      ? {
          variables: { API_DOOR_ARN: door.secretArn },
          policies: { ReadDoor: [{ actions: ["secretsmanager:GetSecretValue"], resources: [door.secretArn] }] },
        }
      : { variables: { API_URL: url } };
    return new ScheduledFunction(this.#stack, "Smoke", {
      ...this.#common(this.find("ops-smoke")),
      description: "Asks the stage what visitors ask, and fails when a response is not as declared",
      resources: [ask, ...(edgeUrl ? [{ variables: { EDGE_URL: edgeUrl } }] : [])],
      every: Duration.minutes(everyMinutes),
      payload: { requests: smokeRequests("public", knownContributor) },
      // The schedule runs it again, and a retry would count a failure twice.
      retries: 0,
    });
  }

  find(name: string): Packaged {
    const packaged = this.#props.packages.find((each) => each.name === name);
    if (!packaged) throw new Error(`There is no function ${name}`);
    if (!packaged.isComplete) refuseDeployment(this.#stack);
    return packaged;
  }

  #common(packaged: Packaged) {
    const { prefix, log } = this.#props;
    return { prefix, log, packaged };
  }

  /** The environment variables that depend on the stage only. */
  get #stageVariables(): Resource {
    const { allowedOrigins, imageDomain } = this.#props.settings;
    return {
      variables: { ALLOWED_ORIGINS: allowedOrigins.join(","), IMAGE_BASE_URL: `https://${imageDomain}` },
    };
  }
}

interface SmokeProps {
  readonly url: string;
  /** Of the stage's edge, if it has one. */
  readonly edgeUrl: string | undefined;
  /** The secret with the address and the key of an API behind an edge. */
  readonly door: ISecret | undefined;
  readonly everyMinutes: number;
  readonly knownContributor: string | undefined;
}

/** An edge keeps responses for long, since it is told when they are stale. */
const cachedAt = ({ sharedCacheSeconds }: { readonly sharedCacheSeconds: number }): Resource => ({
  variables: { SHARED_CACHE_SECONDS: `${sharedCacheSeconds}` },
});

/** How long an endpoint's function may run, and how many may run at once: visitors leave room for the panel. */
function boundsOf(
  declaration: Declaration,
  { streams, publicRecords, images, signIn }: StageSettings,
): Pick<ServiceFunctionProps, "timeout" | "concurrent"> {
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
