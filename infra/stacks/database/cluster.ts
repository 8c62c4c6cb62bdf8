import { createHash } from "node:crypto";
import { CfnDeletionPolicy, Duration, RemovalPolicy, type Stack } from "aws-cdk-lib";
import { FlowLogDestination, type ISubnet, type IVpc, SubnetType, Vpc } from "aws-cdk-lib/aws-ec2";
import { type IKey, Key } from "aws-cdk-lib/aws-kms";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import {
  AuroraPostgresEngineVersion,
  type CfnDBInstance,
  ClusterInstance,
  Credentials,
  DatabaseCluster,
  DatabaseClusterEngine,
  DatabaseClusterFromSnapshot,
  type DatabaseClusterProps,
  DatabaseInsightsMode,
} from "aws-cdk-lib/aws-rds";
import type { DatabaseSettings } from "../../stages.ts";
import { acknowledge } from "../shared/acknowledge.ts";
import { makeLog } from "../shared/log.ts";
import { clusterNames, databaseName } from "./database.ts";

/** The newest minor version of PostgreSQL 18 on Aurora. AWS retires old ones, so this moves on (README, "Update"). */
const postgresVersion = AuroraPostgresEngineVersion.VER_18_6;

/** What PostgreSQL does otherwise than Aurora's defaults; times are in milliseconds. */
const parameters = {
  // The Data API gives up on a statement then, so nobody waits for it any more (Data API, "Limits").
  statement_timeout: "45000",
  // The Data API takes an idle transaction back after three minutes; this is for one that it has lost.
  idle_in_transaction_session_timeout: "240000",
  log_min_duration_statement: "500",
  log_lock_waits: "1",
  // Statements that sort on disk, from 10,240 KB on.
  log_temp_files: "10240",
  // No details, for they hold values of rows and of parameters: names of people, above all.
  log_error_verbosity: "terse",
};

export type AuroraCluster = DatabaseCluster | DatabaseClusterFromSnapshot;

/** Aurora PostgreSQL in a network of its own, its log, and the key that its storage and snapshots are encrypted by. */
export function makeCluster(stack: Stack, settings: DatabaseSettings): AuroraCluster {
  const { snapshot, isProtected, pausesAfterMinutes, standby } = settings;
  const clusterIdentifier = identifierOf(settings);
  const network = makeNetwork(stack, settings);
  const [first, second] = network.isolatedSubnets;
  const log = makeLog(stack, "PostgresLog", postgresLogName(settings), settings);
  const props = {
    clusterIdentifier,
    engine: DatabaseClusterEngine.auroraPostgres({ version: postgresVersion }),
    parameters,
    writer: instance("Writer", first),
    // It has the writer's capacity at any time, and is the first to take its place.
    readers: standby ? [instance("Standby", second, { scaleWithWriter: true })] : [],
    serverlessV2MinCapacity: settings.capacityMin,
    serverlessV2MaxCapacity: settings.capacityMax,
    ...(pausesAfterMinutes ? { serverlessV2AutoPauseDuration: Duration.minutes(pausesAfterMinutes) } : {}),
    vpc: network as IVpc,
    vpcSubnets: { subnetType: SubnetType.PRIVATE_ISOLATED },
    enableDataApi: true,
    // RDS keeps the secret and changes it every seven days; a function of ours would need a way out of the network.
    manageMasterUserPassword: true,
    storageEncryptionKey: makeKey(stack, settings),
    backup: { retention: Duration.days(settings.backupDays) },
    copyTagsToSnapshot: true,
    cloudwatchLogsExports: ["postgresql"],
    // Not where a database rests, since what watches it takes memory.
    ...(pausesAfterMinutes
      ? {}
      : { enablePerformanceInsights: true, databaseInsightsMode: DatabaseInsightsMode.STANDARD }),
    deletionProtection: isProtected,
    removalPolicy: isProtected ? RemovalPolicy.SNAPSHOT : RemovalPolicy.DESTROY,
  } satisfies DatabaseClusterProps;
  const cluster = snapshot
    ? new DatabaseClusterFromSnapshot(stack, "Cluster", { ...props, snapshotIdentifier: snapshot })
    : new DatabaseCluster(stack, "Cluster", {
        ...props,
        defaultDatabaseName: databaseName,
        credentials: Credentials.fromUsername("colophon"),
      });
  cluster.node.addDependency(log);
  if (isProtected) keepReplacedInstances(cluster);
  acknowledge(cluster, {
    "AwsSolutions-RDS6":
      "Nobody logs in to PostgreSQL over the network. The Data API asks IAM for every call (rds-data on this cluster) and takes the password from the secret that RDS rotates.",
    "AwsSolutions-RDS11":
      "No security group lets anybody in, and the subnets have no route out; another port would hide nothing.",
    ...(isProtected ? {} : { "AwsSolutions-RDS10": "This database holds demonstration data and goes with its stack." }),
  });
  return cluster;
}

/**
 * A cluster of another name for each snapshot. What has a name of ours CloudFormation refuses to replace by something
 * new under the same name: so no other change puts an empty cluster in the place of a full one.
 */
function identifierOf({ name, snapshot }: DatabaseSettings): string {
  const origin = snapshot && createHash("sha256").update(snapshot).digest("hex").slice(0, 8);
  return [clusterNames(name), ...(origin ? [origin] : [])].join("-");
}

/** Where Aurora writes it, and would make a log that is kept for ever. */
export const postgresLogName = (settings: DatabaseSettings) => `/aws/rds/cluster/${identifierOf(settings)}/postgresql`;

/** Zones are named, since Aurora would choose them at random. */
const instance = (id: string, subnet: ISubnet | undefined, more: { readonly scaleWithWriter?: true } = {}) =>
  ClusterInstance.serverlessV2(id, {
    // The pinned version stays what runs; AWS would only move on without telling the template.
    autoMinorVersionUpgrade: false,
    ...(subnet ? { availabilityZone: subnet.availabilityZone } : {}),
    ...more,
  });

/** A network that leads nowhere: the Data API reaches the cluster from within AWS, and nothing else has to. */
function makeNetwork(stack: Stack, { logRetentionDays }: DatabaseSettings): Vpc {
  const network = new Vpc(stack, "Network", {
    maxAzs: 2,
    natGateways: 0,
    subnetConfiguration: [{ name: "database", subnetType: SubnetType.PRIVATE_ISOLATED, cidrMask: 24 }],
  });
  const log = new LogGroup(stack, "FlowLog", { retention: logRetentionDays, removalPolicy: RemovalPolicy.DESTROY });
  network.addFlowLog("Flow", { destination: FlowLogDestination.toCloudWatchLogs(log) });
  return network;
}

/**
 * A key of one's own, from the start: a cluster never changes its key, and snapshots under AWS's own key can be given to
 * no other account. Snapshots outlive the cluster, and so does the key of a protected one.
 */
const makeKey = (stack: Stack, { name, isProtected }: DatabaseSettings): IKey =>
  new Key(stack, "StorageKey", {
    description: `Colophon: the database ${name} and its snapshots`,
    enableKeyRotation: true,
    removalPolicy: isProtected ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
  }) as IKey;

/** Stages use the cluster that a restored one replaces until they are deployed; its protection is not its instances'. */
function keepReplacedInstances(cluster: AuroraCluster): void {
  for (const id of ["Writer", "Standby"]) {
    const instance = cluster.node.tryFindChild(id)?.node.defaultChild as CfnDBInstance | undefined;
    if (instance) instance.cfnOptions.updateReplacePolicy = CfnDeletionPolicy.RETAIN;
  }
}
