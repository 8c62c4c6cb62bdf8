import { Annotations, CfnOutput, CfnRule, Duration, Fn, Stack, type StackProps } from "aws-cdk-lib";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import { type Declaration, functionName } from "../../lib/contract/declare.ts";
import type { Owner } from "../../lib/images/keys.ts";
import type { Packaged } from "../build/package.ts";
import { publicReads } from "../public-reads.ts";
import type { StageSettings } from "../settings/schema.ts";
import { smokeRequests } from "../smoke/requests.ts";
import { GradualRelease } from "./api/release.ts";
import { ColophonApi } from "./api/rest-api.ts";
import { type Cluster, databaseResource, findCluster } from "./database/database.ts";
import { Edge, type EdgeProps } from "./edge/edge.ts";
import { Firewall } from "./edge/firewall.ts";
import { Monitoring, type Scheduled } from "./monitoring/monitoring.ts";
import { Alarms } from "./shared/alarms.ts";
import { makeFunctionLog } from "./shared/log.ts";
import { ScheduledFunction } from "./shared/scheduled-function.ts";
import { bufferedTimeout, type Resource, ServiceFunction, streamTimeout } from "./shared/service-function.ts";
import { Images } from "./sites/images.ts";
import { Invalidation } from "./sites/invalidation.ts";
import { ReferenceSite } from "./sites/reference-site.ts";

export interface ApiStackProps extends Pick<StackProps, "env" | "tags"> {
  readonly settings: StageSettings;
  /** The snapshot that its database was restored from. */
  readonly snapshot?: string | undefined;
  readonly endpoints: readonly Declaration[];
  readonly packages: readonly Packaged[];
}

/** With this much memory a function has a whole vCPU, which image processing uses. */
const imageMemoryInMegabytes = 1_769;

/** Whether an endpoint changes images of users or of contributors. */
const ownerOf = (path: string): Owner => (path.startsWith("/admin-users/") ? "users" : "contributors");

/** The API of a stage: its routes, a Lambda function for each, alarms and dashboard. Stages may share a database. */
export class ApiStack extends Stack {
  readonly #settings: StageSettings;
  readonly #packages: readonly Packaged[];
  readonly #cluster: Cluster;
  readonly #prefix: string;
  readonly #log: LogGroup;

  constructor(scope: Construct, id: string, { settings, snapshot, endpoints, packages, ...stackProps }: ApiStackProps) {
    super(scope, id, {
      ...stackProps,
      description: `Colophon: the API of stage ${settings.name}`,
      terminationProtection: settings.isProtected,
    });
    this.#settings = settings;
    this.#packages = packages;
    this.#cluster = findCluster(this, settings.database);
    this.#prefix = `colophon-${settings.name}`;
    this.#log = makeFunctionLog(this, settings.name, settings);

    const alarms = new Alarms(this, "Alarms", { prefix: this.#prefix, recipient: settings.alarmRecipient });
    const monitoring = new Monitoring(this, "Watch", {
      prefix: this.#prefix,
      cluster: this.#cluster,
      alarms,
      ledgerGigabytesADay: settings.ledgerGigabytesADay,
    });
    const images = this.makeImages();
    const served = endpoints
      .filter(({ files }) => settings.uploads || !files)
      .map((declaration) => ({ declaration, endpoint: this.makeEndpoint(declaration, images) }));
    const release = settings.releasesGradually
      ? new GradualRelease(this, "Release", { alarms: monitoring.failures, snapshot })
      : undefined;
    const targets = new Map<string, IFunction>(
      served.map(({ declaration, endpoint: { lambda } }) => [
        functionName(declaration),
        (release?.of(lambda) ?? lambda) as IFunction,
      ]),
    );
    const { api, accessLog } = new ColophonApi(this, "Rest", { prefix: this.#prefix, endpoints, settings, targets });
    const { stageName, stageArn } = api.deploymentStage;
    const host = `${api.restApiId}.execute-api.${this.region}.${this.urlSuffix}`;
    const edge = settings.edge && this.makeEdge(settings.edge, { host, stageName }, endpoints);
    if (settings.firewall) {
      new Firewall(this, "Firewall", {
        name: this.#prefix,
        settings: settings.firewall,
        endpoints,
        stageArn,
        edge: edge?.headers,
      });
    }
    const removal = images && this.makeRemoval(images);
    if (images) this.makeInvalidation(images, alarms);
    // Not through the edge, which would still answer from its cache when the API fails.
    const smoke = this.makeSmoke(settings.domain && !settings.edge ? `https://${settings.domain.name}` : api.url);
    monitoring.monitor({ functionLog: this.#log, accessLog, removal, tidying: this.makeTidying(), smoke });

    const domain = settings.edge?.domain ?? settings.domain?.name;
    this.makeReference(`https://${domain ?? host}`);

    new CfnOutput(this, "Url", { value: domain ? `https://${domain}` : api.url });
    if (edge) new CfnOutput(this, "DirectUrl", { value: api.url });
    if (settings.domain)
      new CfnOutput(this, "DomainTarget", { value: api.domainName?.domainNameAliasDomainName ?? "" });
    if (images) {
      new CfnOutput(this, "ImageDomainTarget", { value: images.distribution.domainName });
      new CfnOutput(this, "ImageBucket", { value: images.bucket.bucketName });
    }
  }

  private makeImages(): Images | undefined {
    const { uploads, imageDomain: domain, imageCertificate: certificateArn } = this.#settings;
    if (!uploads || !certificateArn) return undefined;
    return new Images(this, "Images", { domain, certificateArn, ...this.logSettings });
  }

  private makeEdge(
    { domain, certificate: certificateArn }: NonNullable<StageSettings["edge"]>,
    api: EdgeProps["api"],
    endpoints: readonly Declaration[],
  ): Edge {
    return new Edge(this, "Edge", {
      domain,
      certificateArn,
      api,
      reads: publicReads(endpoints),
      sendsAddresses: this.#settings.firewall !== undefined,
      ...this.logSettings,
    });
  }

  private makeReference(api: string): void {
    const { reference } = this.#settings;
    if (!reference) return;
    const { domain, certificate: certificateArn } = reference;
    new ReferenceSite(this, "Reference", { api, domain, certificateArn, ...this.logSettings });
  }

  private makeEndpoint(declaration: Declaration, images: Images | undefined): ServiceFunction {
    const name = functionName(declaration);
    const packaged = this.find(name);
    const hasImages = declaration.files || declaration.removesImages;
    const imageResource = hasImages && images ? [images.resourceFor([ownerOf(declaration.path)], packaged)] : [];
    const isStream = "list" in declaration.answers;
    const concurrent = isStream ? this.#settings.streams?.concurrent : undefined;
    return new ServiceFunction(this, name, {
      prefix: this.#prefix,
      packaged,
      description: declaration.summary,
      resources: [this.stageVariables, databaseResource(this.#cluster, packaged), ...imageResource],
      timeout: isStream ? streamTimeout(this.#settings) : bufferedTimeout,
      ...(concurrent === undefined ? {} : { concurrent }),
      ...(packaged.processesImages ? { memoryInMegabytes: imageMemoryInMegabytes } : {}),
      log: this.#log,
    });
  }

  private makeRemoval(images: Images): ServiceFunction {
    const packaged = this.find("ops-remove-images");
    return new ScheduledFunction(this, "Removal", {
      prefix: this.#prefix,
      packaged,
      description: "Removes images that nothing refers to any more",
      resources: [databaseResource(this.#cluster, packaged), images.resourceFor(["users", "contributors"], packaged)],
      // Deleted people's images are removed within six hours; more runs would cost more.
      every: Duration.hours(6),
      payload: {},
      log: this.#log,
    }).serviceFunction;
  }

  private makeInvalidation(images: Images, alarms: Alarms): void {
    const packaged = this.find("ops-forget-removed-images");
    new Invalidation(this, "Invalidation", { prefix: this.#prefix, packaged, images, alarms, log: this.#log });
  }

  private makeTidying(): ServiceFunction {
    const packaged = this.find("ops-tidy");
    return new ScheduledFunction(this, "Tidying", {
      prefix: this.#prefix,
      packaged,
      description: "Forgets old changes, sessions and releases",
      resources: [databaseResource(this.#cluster, packaged)],
      every: Duration.days(1),
      payload: { days: this.#settings.changesKeptDays },
      log: this.#log,
    }).serviceFunction;
  }

  private makeSmoke(url: string): Scheduled | undefined {
    const { smoke } = this.#settings;
    if (!smoke) return undefined;
    const every = Duration.minutes(smoke.everyMinutes);
    const { serviceFunction } = new ScheduledFunction(this, "Smoke", {
      prefix: this.#prefix,
      packaged: this.find("ops-smoke"),
      description: "Asks the stage what visitors ask, and fails when an answer is not as declared",
      resources: [{ variables: { API_URL: url }, policies: {} }],
      every,
      payload: { requests: smokeRequests("public") },
      // The schedule runs it again, and a retry would count a failure twice.
      retries: 0,
      log: this.#log,
    });
    return { serviceFunction, every };
  }

  /** The environment variables that depend on the stage only. */
  private get stageVariables(): Resource {
    const { allowedOrigins, imageDomain } = this.#settings;
    return {
      variables: { ALLOWED_ORIGINS: allowedOrigins.join(","), IMAGE_BASE_URL: `https://${imageDomain}` },
      policies: {},
    };
  }

  private get logSettings() {
    const { logRetentionDays, isProtected } = this.#settings;
    return { logRetentionDays, isProtected };
  }

  private find(name: string): Packaged {
    const packaged = this.#packages.find((each) => each.name === name);
    if (!packaged) throw new Error(`There is no function ${name}`);
    if (!packaged.isComplete) this.refuseDeployment();
    return packaged;
  }

  /** The template is synthesised, but neither the CDK nor CloudFormation deploys it. */
  private refuseDeployment(): void {
    if (this.node.tryFindChild("Complete")) return;
    const reason = "sharp for linux-arm64 is missing: run `npm run package` first.";
    Annotations.of(this).addError(reason);
    new CfnRule(this, "Complete").addAssertion(Fn.conditionEquals("incomplete", "complete"), reason);
  }
}
