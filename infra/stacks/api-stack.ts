import { CfnOutput, Duration, type Stack } from "aws-cdk-lib";
import { CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";
import type { Declaration } from "../../lib/contract/declare.ts";
import { publicReads } from "../api/public-reads.ts";
import type { Packaged } from "../build/package.ts";
import type { StageSettings } from "../settings/schema.ts";
import { smokeRequests } from "../smoke/requests.ts";
import { makeDoor } from "./api/door.ts";
import { makeRelease } from "./api/release.ts";
import { makeApi, stageName } from "./api/rest-api.ts";
import { makeSignIn } from "./api/sign-in.ts";
import { makeEndpoints, stageFunctions } from "./api/stage-functions.ts";
import { databaseResource, findCluster } from "./database/database.ts";
import { makeEdge } from "./edge/edge.ts";
import { invalidateAtEdge, notifyingEdge } from "./edge/edge-invalidation.ts";
import { makeWebAcl } from "./edge/web-acl.ts";
import type { EdgeFirewall } from "./firewall-stack.ts";
import type { DistributionName } from "./monitoring/cdn-metrics.ts";
import { metricsOf } from "./monitoring/metrics.ts";
import { monitor } from "./monitoring/monitoring.ts";
import { Alarms } from "./shared/alarms.ts";
import { globalPrefix } from "./shared/global-prefix.ts";
import { makeFunctionLog } from "./shared/log.ts";
import { makeImages } from "./sites/images.ts";
import { invalidateRemovedImages } from "./sites/invalidation.ts";

export interface ApiProps {
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
export function addApi(stack: Stack, props: ApiProps): void {
  const { settings, restoredFrom, knownContributor, endpoints, packages, firewall, imageCopies } = props;
  const { edge, domain, imageCertificate: certificateArn } = settings;
  const prefix = `colophon-${settings.name}`;
  const unique = globalPrefix(prefix, stack.region);
  const cluster = findCluster(stack, settings.database);
  const log = makeFunctionLog(stack, settings.name, settings);
  const alarms = new Alarms(stack, "Alarms", { prefix, recipient: settings.alarmRecipient });
  const metrics = metricsOf(prefix, cluster);
  const database = (packaged: Packaged) => databaseResource(cluster, packaged);
  const construct = (id: string) => new Construct(stack, id);

  const images = certificateArn
    ? makeImages(stack, { prefix: unique, settings, certificateArn, copies: imageCopies, webAcl: firewall?.images })
    : undefined;
  const signIn = settings.signIn && makeSignIn(stack, settings.signIn, edge?.domain);
  const functions = stageFunctions(stack, packages, { prefix, log });
  const targets = makeRelease(stack, {
    prefix,
    functions: makeEndpoints(stack, functions, endpoints, { settings, cluster, prefix, images, signIn }),
    restoredFrom,
    // CloudFormation invokes it in each deployment of a release.
    makePublisher: (resource) =>
      functions.make(construct("Releasing"), "ops-release-on-deploy", {
        description: "Publishes new versions of functions and tries them, before they get traffic",
        resources: () => [resource],
        // A version that failed would fail again.
        retries: 0,
      }),
  });
  const { api, accessLog } = makeApi(stack, { prefix, endpoints, settings, targets });
  const host = `${api.restApiId}.execute-api.${stack.region}.${stack.urlSuffix}`;
  const door =
    edge && makeDoor(stack, { prefix, stage: settings.name, edge, api, url: `https://${host}/${stageName}` });
  const distribution =
    edge &&
    door &&
    makeEdge(stack, {
      prefix: unique,
      settings,
      edge,
      api: { host, stageName, key: door.key },
      reads: publicReads(endpoints),
      webAcl: firewall?.api,
    });
  if (edge && distribution) {
    // The methods ask for the key only after CloudFront sends it.
    api.deploymentStage.node.addDependency(distribution);
    invalidateAtEdge(stack, { settings, edge, distribution, cluster, functions, log, alarms, metrics });
  }
  if (settings.firewall && !edge) {
    const before = construct("Firewall");
    const webAclArn = makeWebAcl(before, {
      name: prefix,
      settings,
      firewall: settings.firewall,
      endpoints,
      scope: "REGIONAL",
    });
    new CfnWebACLAssociation(before, "Association", { resourceArn: api.deploymentStage.stageArn, webAclArn });
  }

  if (images) invalidateRemovedImages(stack, images, functions, alarms);
  const removal =
    images &&
    functions.makeScheduled(construct("Removal"), "ops-remove-images", {
      description: "Removes images that nothing refers to any more",
      resources: (packaged) => [database(packaged), images.resourceFor(["users", "contributors"], packaged)],
      // Deleted people's images are removed within six hours; more runs would cost more.
      every: Duration.hours(6),
    });
  const tidying = functions.makeScheduled(construct("Tidying"), "ops-tidy", {
    description: "Forgets old changes, sessions and releases",
    resources: (packaged) => [database(packaged)],
    every: Duration.days(1),
    payload: { days: settings.changesRetentionDays },
  });
  // For operators, who invoke it. Where there are uploads, it restores deleted images, too.
  functions.make(construct("Undoing"), "ops-undo", {
    description: "Takes back what was changed by mistake",
    resources: (packaged) => [
      database(packaged),
      ...(images ? [images.restorationFor(["users", "contributors"])] : []),
      ...(edge ? [notifyingEdge(stack, prefix)] : []),
    ],
  });
  // Past the edge, which would still respond from its cache when the API fails.
  const smokeTarget = door
    ? {
        variables: { API_DOOR_ARN: door.secret.secretArn },
        policies: { ReadDoor: [{ actions: ["secretsmanager:GetSecretValue"], resources: [door.secret.secretArn] }] },
      }
    : { variables: { API_URL: domain ? `https://${domain.name}` : api.url } };
  const smoke =
    settings.smoke &&
    functions.makeScheduled(construct("Smoke"), "ops-smoke", {
      description: "Asks the stage what visitors ask, and fails when a response is not as declared",
      resources: () => [smokeTarget, ...(edge ? [{ variables: { EDGE_URL: `https://${edge.domain}` } }] : [])],
      every: Duration.minutes(settings.smoke.everyMinutes),
      payload: { requests: smokeRequests("public", knownContributor) },
      // The schedule runs it again, and a retry would count a failure twice.
      retries: 0,
    });
  const distributions = new Map<DistributionName, string>();
  if (distribution) distributions.set("edge", distribution.distributionId);
  if (images) distributions.set("images", images.distribution.distributionId);
  monitor(construct("Watch"), {
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
    distributions,
  });

  const apiDomain = edge?.domain ?? domain?.name;
  const outputs = {
    Url: apiDomain ? `https://${apiDomain}` : api.url,
    ...(domain ? { DomainTarget: api.domainName?.domainNameAliasDomainName ?? "" } : {}),
    ...(images
      ? {
          ImageDomainTarget: images.distribution.domainName,
          ImageDistribution: images.distribution.distributionId,
          ImageBucket: images.bucket.bucketName,
        }
      : {}),
  };
  for (const [name, value] of Object.entries(outputs)) new CfnOutput(stack, name, { value });
  if (domain) alarms.mailExpiry([domain.certificate]);
}
