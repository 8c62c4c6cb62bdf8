import { CfnOutput, Duration, type Stack } from "aws-cdk-lib";
import { CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";
import { smokeRequests } from "../smoke/requests.ts";
import { makeDoor } from "./api/door.ts";
import { makeEndpoints } from "./api/endpoints.ts";
import { makeRelease } from "./api/release.ts";
import { makeApi, stageName } from "./api/rest-api.ts";
import { makeSignIn } from "./api/sign-in.ts";
import { databaseResource, findCluster } from "./database/database.ts";
import { makeEdge } from "./edge/edge.ts";
import { invalidateAtEdge, notifyingEdge } from "./edge/edge-invalidation.ts";
import { makeWebAcl } from "./edge/web-acl.ts";
import type { WebAcls } from "./firewall-stack.ts";
import { type DistributionName, distributionOutputs } from "./monitoring/cdn.ts";
import { monitor } from "./monitoring/monitoring.ts";
import { openStage, type StageProps } from "./shared/stage.ts";
import { makeImages } from "./sites/images.ts";
import { invalidateRemovedImages } from "./sites/invalidation.ts";

export interface ApiProps extends Omit<StageProps, "databaseOf"> {
  /** What its database was restored from. */
  readonly restoredFrom?: string | undefined;
  /** The slug of one whom its database must have. */
  readonly knownContributor?: string | undefined;
  /** The firewall before its distributions, if it has one. */
  readonly webAcls?: WebAcls;
  /** The ARN of the bucket of the images' copies, if it has one. */
  readonly imageCopies?: string | undefined;
}

/** The API of a stage: its routes, a Lambda function for each, alarms and dashboard. Stages may share a database. */
export function addApi(
  stack: Stack,
  { restoredFrom, knownContributor, imageCopies, webAcls = {}, ...props }: ApiProps,
): void {
  const cluster = findCluster(stack, props.settings.database);
  const stage = openStage(stack, { ...props, databaseOf: (packaged) => databaseResource(cluster, packaged) });
  const { settings, prefix, alarms, makeReleased, makeScheduled } = stage;
  const { edge, domain, firewall, imageCertificate: certificateArn } = settings;
  const construct = (id: string) => new Construct(stack, id);

  const images = certificateArn ? makeImages(stage, certificateArn, webAcls.images, imageCopies) : undefined;
  const signIn = settings.signIn && makeSignIn(stack, settings.signIn, edge?.domain);
  const invalidation = edge && notifyingEdge(stack, prefix);
  makeEndpoints(stage, {
    imagesOf:
      images && (({ path }) => images.resourceFor([path.startsWith("/admin-users/") ? "users" : "contributors"])),
    signIn,
    invalidation,
  });
  const { api, accessLog } = makeApi(stage);
  const host = `${api.restApiId}.execute-api.${stack.region}.${stack.urlSuffix}`;
  const door = edge && makeDoor(stage, edge, api, `https://${host}/${stageName}`);
  const distribution = edge && door && makeEdge(stage, edge, host, door.keys, webAcls.edge);
  if (edge && distribution) {
    // The methods ask for the key only after CloudFront sends it.
    api.deploymentStage.node.addDependency(distribution);
    invalidateAtEdge(stage, edge, distribution);
  }
  if (firewall && !edge) {
    const before = construct("Firewall");
    const webAclArn = makeWebAcl(before, { ...stage, name: prefix, firewall, scope: "REGIONAL" });
    new CfnWebACLAssociation(before, "Association", { resourceArn: api.deploymentStage.stageArn, webAclArn });
  }

  if (images) invalidateRemovedImages(stage, images);
  const removal =
    images &&
    makeScheduled(construct("Removal"), "ops-remove-images", {
      description: "Removes images that nothing refers to any more",
      resources: [images.resourceFor(["users", "contributors"])],
      // Deleted people's images are removed within six hours; more runs would cost more.
      every: Duration.hours(6),
    });
  const tidying = makeScheduled(construct("Tidying"), "ops-tidy", {
    description: "Forgets old changes, sessions and releases",
    resources: [],
    every: Duration.days(1),
    payload: { days: settings.changesRetentionDays },
  });
  // For operators, who invoke it. Where there are uploads, it restores deleted images, too.
  makeReleased(construct("Undoing"), "ops-undo", {
    description: "Takes back what was changed by mistake",
    resources: [
      ...(images ? [images.restorationFor(["users", "contributors"])] : []),
      ...(invalidation ? [invalidation] : []),
    ],
  });
  // Past the edge, which would still respond from its cache when the API fails.
  const smokeTarget = door
    ? {
        variables: { API_DOOR_ARN: door.secret.secretArn },
        policies: { ReadDoor: [{ actions: ["secretsmanager:GetSecretValue"], resources: [door.secret.secretArn] }] },
      }
    : { variables: { API_URL: `https://${domain?.name ?? `${host}/${stageName}`}` } };
  const smoke =
    settings.smoke &&
    makeScheduled(construct("Smoke"), "ops-smoke", {
      description: "Asks the stage what visitors ask, and fails when a response is not as declared",
      resources: [smokeTarget, ...(edge ? [{ variables: { EDGE_URL: `https://${edge.domain}` } }] : [])],
      every: Duration.minutes(settings.smoke.everyMinutes),
      payload: { requests: smokeRequests("public", knownContributor) },
      // The schedule runs it again, and a retry would count a failure twice.
      retryAttempts: 0,
    });
  // Requests come to the released versions alone.
  api.deploymentStage.node.addDependency(...makeRelease(stage, restoredFrom));
  const distributions = new Map<DistributionName, string>();
  if (distribution) distributions.set("edge", distribution.distributionId);
  if (images) distributions.set("images", images.distribution.distributionId);
  monitor(stage, { accessLog, removal, tidying, smoke, distributions, clusterIdentifier: cluster.identifier });

  const apiDomain = edge?.domain ?? domain?.name;
  const outputs = {
    Url: apiDomain ? `https://${apiDomain}` : api.url,
    DomainTarget: api.domainName?.domainNameAliasDomainName,
    EdgeTarget: distribution?.domainName,
    [distributionOutputs.edge]: distribution?.distributionId,
    ImageDomainTarget: images?.distribution.domainName,
    [distributionOutputs.images]: images?.distribution.distributionId,
    ImageBucket: images?.bucket.bucketName,
  };
  for (const [name, value] of Object.entries(outputs)) if (value) new CfnOutput(stack, name, { value });
  if (domain) alarms.mailExpiry([domain.certificate]);
}
