import { createHash } from "node:crypto";
import { CfnDeletionPolicy, ContextProvider, Duration, Fn, RemovalPolicy, type Stack } from "aws-cdk-lib";
import { type ISecurityGroup, type ISubnet, type IVpc, SecurityGroup, SubnetType, Vpc } from "aws-cdk-lib/aws-ec2";
import { type IKey, Key } from "aws-cdk-lib/aws-kms";
import * as rds from "aws-cdk-lib/aws-rds";
import type { DatabaseSettings } from "../../settings/schema.ts";
import { acknowledge } from "../shared/acknowledge.ts";
import { makeLog, removalPolicyOf } from "../shared/log.ts";
import { type AuroraCluster, clusterNames, databaseName } from "./database.ts";

/**
 * The newest minor version of PostgreSQL 18 on Aurora. AWS retires old ones, so raise it regularly (README, "Update").
 */
const postgresVersion = rds.AuroraPostgresEngineVersion.VER_18_6;

/** Parameters that differ from Aurora's defaults; times are in milliseconds. */
const parameters = {
  // The logins of functions have time-outs of their own (lib/migrations/roles.sql), and the Data API ends a statement
  // after 45 s. Slow migrations go on (lib/migrations/slow.ts).
  statement_timeout: "0",
  // The Data API rolls back an idle transaction after three minutes; this ends one that it does not roll back.
  idle_in_transaction_session_timeout: "240000",
  log_min_duration_statement: "500",
  log_lock_waits: "1",
  // Logs statements that sort more than 10,240 KB on disk.
  log_temp_files: "10240",
  // No details, because they contain values of rows and parameters, such as names of people.
  log_error_verbosity: "terse",
};

/** Aurora PostgreSQL in a network of its own, its log, and the key that its storage and snapshots are encrypted by. */
export function makeCluster(stack: Stack, settings: DatabaseSettings): AuroraCluster {
  const { isProtected, pausesAfterMinutes, standby, maintenanceWindow } = settings;
  const clusterIdentifier = identifierOf(settings);
  const network = makeNetwork(stack, settings);
  const [first, second] = network.isolatedSubnets;
  const log = makeLog(stack, "PostgresLog", postgresLogName(settings), settings);
  const instance = (id: string, zone: ISubnet | undefined, more: rds.ServerlessV2ClusterInstanceProps = {}) =>
    rds.ClusterInstance.serverlessV2(id, {
      // Otherwise AWS would upgrade, and the running version would differ from the template's.
      autoMinorVersionUpgrade: false,
      // An instance has one of its own.
      preferredMaintenanceWindow: maintenanceWindow,
      // Aurora would choose a random zone.
      ...(zone ? { availabilityZone: zone.availabilityZone } : {}),
      ...more,
    });
  const props = {
    clusterIdentifier,
    engine: rds.DatabaseClusterEngine.auroraPostgres({ version: postgresVersion }),
    parameters,
    writer: instance("Writer", first),
    // It always has the writer's capacity, and is the first to take over.
    readers: standby ? [instance("Standby", second, { scaleWithWriter: true })] : [],
    serverlessV2MinCapacity: settings.capacityMin,
    serverlessV2MaxCapacity: settings.capacityMax,
    ...(pausesAfterMinutes ? { serverlessV2AutoPauseDuration: Duration.minutes(pausesAfterMinutes) } : {}),
    vpc: network as IVpc,
    vpcSubnets: { subnetType: SubnetType.PRIVATE_ISOLATED },
    securityGroups: [makeSecurityGroup(stack, network)],
    enableDataApi: true,
    // RDS manages the secret and rotates the password every seven days, without a function in the network.
    manageMasterUserPassword: true,
    storageEncryptionKey: makeKey(stack, settings),
    backup: { retention: Duration.days(settings.backupRetentionDays), preferredWindow: settings.backupWindow },
    preferredMaintenanceWindow: maintenanceWindow,
    copyTagsToSnapshot: true,
    cloudwatchLogsExports: ["postgresql"],
    // Not for a database that pauses, because Performance Insights needs memory.
    ...(pausesAfterMinutes
      ? {}
      : { enablePerformanceInsights: true, databaseInsightsMode: rds.DatabaseInsightsMode.STANDARD }),
    deletionProtection: isProtected,
    removalPolicy: isProtected ? RemovalPolicy.SNAPSHOT : RemovalPolicy.DESTROY,
  } satisfies rds.DatabaseClusterProps;
  const cluster = createOrRestore(stack, settings, props);
  cluster.node.addDependency(log);
  if (isProtected) retainReplacedInstances(cluster);
  acknowledge(cluster, {
    "AwsSolutions-RDS6":
      "Nobody logs in to PostgreSQL over the network. The Data API asks IAM for every call (rds-data on this cluster) and takes the password from the secret that RDS rotates.",
    "AwsSolutions-RDS11":
      "No security group lets anybody in, and the subnets have no route out; another port would hide nothing.",
    ...(isProtected ? {} : { "AwsSolutions-RDS10": "This database holds demonstration data and goes with its stack." }),
  });
  return cluster;
}

function createOrRestore(stack: Stack, { snapshot, restore }: DatabaseSettings, props: rds.DatabaseClusterProps) {
  if (snapshot)
    return new rds.DatabaseClusterFromSnapshot(stack, "Cluster", { ...props, snapshotIdentifier: snapshot });
  const cluster = new rds.DatabaseCluster(stack, "Cluster", {
    ...props,
    ...(restore ? {} : { defaultDatabaseName: databaseName }),
    credentials: rds.Credentials.fromUsername("colophon"),
  });
  if (restore) {
    const resource = cluster.node.defaultChild as rds.CfnDBCluster;
    resource.sourceDbClusterIdentifier = restore.cluster;
    resource.restoreToTime = restore.time;
    // The source's.
    resource.masterUsername = undefined;
  }
  return cluster;
}

/** What the cluster was restored from, if anything. */
export const originOf = ({ snapshot, restore }: DatabaseSettings): string | undefined =>
  snapshot ?? (restore && `${restore.cluster} ${restore.time}`);

/**
 * The cluster's name, another one for each origin. CloudFormation refuses to replace a named resource by one with the
 * same name, so no change but a restore can replace the cluster by an empty one.
 */
export function identifierOf(settings: DatabaseSettings): string {
  const origin = originOf(settings);
  const suffix = origin && createHash("sha256").update(origin).digest("hex").slice(0, 8);
  return [clusterNames(settings.name), ...(suffix ? [suffix] : [])].join("-");
}

/** The log group that Aurora writes to. Without this stack Aurora would create one that is kept for ever. */
export const postgresLogName = (settings: DatabaseSettings) => `/aws/rds/cluster/${identifierOf(settings)}/postgresql`;

/**
 * A network without routes out: only the Data API uses the cluster, and AWS connects it from inside. Where no setting
 * names its zones, CloudFormation chooses them; to know their names, the CDK would ask AWS.
 */
function makeNetwork(stack: Stack, { zones }: DatabaseSettings): Vpc {
  const { key } = ContextProvider.getKey(stack, { provider: "availability-zones" });
  stack.node.setContext(key, zones ?? [0, 1].map((index) => Fn.select(index, Fn.getAzs())));
  const network = new Vpc(stack, "Network", {
    maxAzs: 2,
    natGateways: 0,
    subnetConfiguration: [{ name: "database", subnetType: SubnetType.PRIVATE_ISOLATED, cidrMask: 24 }],
  });
  acknowledge(network, { "AwsSolutions-VPC7": "A flow log would be empty: no security group lets traffic in or out." });
  return network;
}

/** Allows no traffic, in or out. */
const makeSecurityGroup = (stack: Stack, network: Vpc): ISecurityGroup =>
  new SecurityGroup(stack, "NoTraffic", {
    vpc: network as IVpc,
    description: "No connections: the Data API needs none",
    allowAllOutbound: false,
  });

/**
 * A customer managed key, from the start: a cluster cannot change its key, and snapshots under AWS's key cannot be
 * shared with another account. Snapshots outlive a protected cluster, so its key does, too.
 */
const makeKey = (stack: Stack, { name, isProtected }: DatabaseSettings): IKey =>
  new Key(stack, "StorageKey", {
    description: `Colophon: the database ${name} and its snapshots`,
    enableKeyRotation: true,
    removalPolicy: removalPolicyOf(isProtected),
  }) as IKey;

/** Keeps the instances of a replaced cluster, which stages use until they are deployed. */
function retainReplacedInstances(cluster: AuroraCluster): void {
  for (const id of ["Writer", "Standby"]) {
    const instance = cluster.node.tryFindChild(id)?.node.defaultChild as rds.CfnDBInstance | undefined;
    if (instance) instance.cfnOptions.updateReplacePolicy = CfnDeletionPolicy.RETAIN;
  }
}
