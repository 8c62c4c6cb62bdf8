import { CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import { CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";
import type { Declaration } from "../../lib/contract/declare.ts";
import { isServed } from "../api/document.ts";
import { publicReads } from "../api/public-reads.ts";
import type { Packaged } from "../build/package.ts";
import { invalidationsAtOnce } from "../settings/checks.ts";
import type { StageSettings } from "../settings/schema.ts";
import { makeDoor } from "./api/door.ts";
import { Release } from "./api/release.ts";
import { ColophonApi, stageName } from "./api/rest-api.ts";
import { makeSignIn } from "./api/sign-in.ts";
import { StageFunctions } from "./api/stage-functions.ts";
import { databaseResource, findCluster } from "./database/database.ts";
import { Edge } from "./edge/edge.ts";
import { EdgeInvalidation } from "./edge/edge-invalidation.ts";
import { makeWebAcl } from "./edge/web-acl.ts";
import type { EdgeFirewall } from "./firewall-stack.ts";
import type { DistributionName } from "./monitoring/cdn-metrics.ts";
import { metricsOf } from "./monitoring/metrics.ts";
import { monitor } from "./monitoring/monitoring.ts";
import { Alarms } from "./shared/alarms.ts";
import { globalPrefix } from "./shared/global-prefix.ts";
import { makeFunctionLog } from "./shared/log.ts";
import { Images } from "./sites/images.ts";
import { Invalidation } from "./sites/invalidation.ts";

export interface ApiStackProps extends Pick<StackProps, "env" | "tags" | "synthesizer"> {
  readonly settings: StageSettings;
  /** What its database was restored from. */
  readonly restoredFrom?: string | undefined;
  /** The slug of one whom its database must have. */
  readonly knownContributor?: string | undefined;
  readonly endpoints: readonly Declaration[];
  readonly packages: readonly Packaged[];
  /** The firewall before its distributions, if it has one. */
  readonly firewall?: EdgeFirewall | undefined;
  /** The ARN of the bucket of the images' copies, if it has one. */
  readonly imageCopies?: string | undefined;
}

/** The API of a stage: its routes, a Lambda function for each, alarms and dashboard. Stages may share a database. */
export class ApiStack extends Stack {
  constructor(scope: Construct, id: string, props: ApiStackProps) {
    const { settings, restoredFrom, knownContributor, endpoints, packages, firewall, imageCopies, ...stackProps } =
      props;
    super(scope, id, {
      ...stackProps,
      description: `Colophon: the API of stage ${settings.name}`,
      terminationProtection: settings.isProtected,
    });
    const prefix = `colophon-${settings.name}`;
    const unique = globalPrefix(prefix, this.region);
    const cluster = findCluster(this, settings.database);
    const log = makeFunctionLog(this, settings.name, settings);
    const alarms = new Alarms(this, "Alarms", { prefix, recipient: settings.alarmRecipient });
    const metrics = metricsOf(prefix, cluster);

    const images = settings.imageCertificate
      ? new Images(this, "Images", {
          prefix: unique,
          settings,
          certificateArn: settings.imageCertificate,
          copies: imageCopies,
          webAcl: firewall?.images,
        })
      : undefined;
    const signIn = settings.signIn && makeSignIn(this, settings.signIn, settings.edge?.domain);
    const functions = new StageFunctions(this, { settings, packages, cluster, prefix, log, images, signIn });
    const { aliases: targets } = new Release(this, "Release", {
      prefix,
      functions: functions.endpoints(endpoints),
      restoredFrom,
      makePublisher: (resource) => functions.releasing(resource),
    });
    const { api, accessLog } = new ColophonApi(this, "Rest", { prefix, endpoints, settings, targets });
    const host = `${api.restApiId}.execute-api.${this.region}.${this.urlSuffix}`;
    const url = `https://${host}/${stageName}`;
    const door = settings.edge && makeDoor(this, { prefix, settings, edge: settings.edge, api, url });
    const edge =
      door &&
      new Edge(this, "Edge", {
        prefix: unique,
        settings,
        edge: door.edge,
        api: { host, stageName, key: door.key },
        reads: publicReads(endpoints),
        webAcl: firewall?.api,
      });
    if (settings.edge && edge) {
      // The methods ask for the key only after CloudFront sends it.
      api.deploymentStage.node.addDependency(edge.distribution);
      const packaged = functions.find("ops-invalidate");
      new EdgeInvalidation(this, "EdgeInvalidation", {
        prefix,
        packaged,
        log,
        distribution: edge.distribution,
        database: databaseResource(cluster, packaged),
        invalidationsADay: settings.edge.invalidationsADay,
        concurrent: invalidationsAtOnce(settings),
        alarms,
        metrics,
      });
    }
    if (settings.firewall && !edge) {
      const before = new Construct(this, "Firewall");
      const webAclArn = makeWebAcl(before, {
        name: prefix,
        settings: settings.firewall,
        allowedOrigins: settings.allowedOrigins,
        endpoints: endpoints.filter((each) => isServed(each, settings)),
        scope: "REGIONAL",
      });
      new CfnWebACLAssociation(before, "Association", { resourceArn: api.deploymentStage.stageArn, webAclArn });
    }

    const removal = images && functions.removal(images);
    if (images) {
      const packaged = functions.find("ops-invalidate-images");
      new Invalidation(this, "Invalidation", { prefix, packaged, images, alarms, log });
    }
    const tidying = functions.tidying();
    functions.undoing();
    // Past the edge, which would still respond from its cache when the API fails.
    const smokeUrl = settings.domain && !settings.edge ? `https://${settings.domain.name}` : api.url;
    const edgeUrl = settings.edge && `https://${settings.edge.domain}`;
    const smoke =
      settings.smoke &&
      functions.smoke({ url: smokeUrl, edgeUrl, door: door?.secret, knownContributor, ...settings.smoke });
    monitor(new Construct(this, "Watch"), {
      prefix,
      unique,
      settings,
      metrics,
      alarms,
      functionLog: log,
      accessLog,
      removal,
      tidying,
      smoke,
      distributions: new Map(
        Object.entries({ edge, images }).flatMap(([name, site]) =>
          site ? [[name as DistributionName, site.distribution.distributionId]] : [],
        ),
      ),
    });

    const domain = settings.edge?.domain ?? settings.domain?.name;
    new CfnOutput(this, "Url", { value: domain ? `https://${domain}` : api.url });
    if (settings.domain) {
      alarms.mailExpiry([settings.domain.certificate]);
      new CfnOutput(this, "DomainTarget", { value: api.domainName?.domainNameAliasDomainName ?? "" });
    }
    if (images) {
      new CfnOutput(this, "ImageDomainTarget", { value: images.distribution.domainName });
      new CfnOutput(this, "ImageDistribution", { value: images.distribution.distributionId });
      new CfnOutput(this, "ImageBucket", { value: images.bucket.bucketName });
    }
  }
}
