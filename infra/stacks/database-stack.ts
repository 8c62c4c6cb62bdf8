import { CfnDeletionPolicy, Duration, Fn, RemovalPolicy, Stack, type StackProps } from "aws-cdk-lib";
import { FlowLogDestination, type IVpc, SubnetType, Vpc } from "aws-cdk-lib/aws-ec2";
import { CfnPermission, type Function as Lambda } from "aws-cdk-lib/aws-lambda";
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
} from "aws-cdk-lib/aws-rds";
import { CfnRotationSchedule, Secret } from "aws-cdk-lib/aws-secretsmanager";
import type { Construct } from "constructs";
import { databaseRoleOf } from "../database-role.ts";
import type { Packaged } from "../package.ts";
import type { DatabaseSettings } from "../stages.ts";
import { acknowledge } from "./acknowledge.ts";
import { Alarms } from "./alarms.ts";
import { databaseName, databaseResource, type OwnCluster, ownResource, publishCluster } from "./database.ts";
import { makeFunctionLog } from "./log.ts";
import { Migration } from "./migration.ts";
import { longTimeout, ServiceFunction } from "./service-function.ts";

/** The newest minor version of PostgreSQL 18 on Aurora. AWS retires old ones, so this moves on (README, "Update"). */
const postgresVersion = AuroraPostgresEngineVersion.VER_18_6;

const rotationDays = 30;

export interface DatabaseStackProps extends Pick<StackProps, "env" | "tags"> {
  readonly settings: DatabaseSettings;
  /** What operators run against this database, whichever API uses it. */
  readonly operations: readonly Packaged[];
  /** Runs the migrations when CloudFormation asks for it. */
  readonly migration: Packaged;
}

/** The cluster, what operators do to it, and its migrations. API stacks find it by parameters (database.ts). */
export class DatabaseStack extends Stack {
  constructor(scope: Construct, id: string, { settings, operations, migration, ...place }: DatabaseStackProps) {
    super(scope, id, {
      ...place,
      description: `Colophon: the database ${settings.name}`,
      terminationProtection: settings.isProtected,
    });
    const prefix = `colophon-${settings.name}`;
    const database = makeCluster(this, settings);
    const cluster = describe(this, database);
    publishCluster(this, settings.name, cluster);

    const shared = { prefix, log: makeFunctionLog(this, `${settings.name}-database`, settings) };
    const deployment = new Migration(this, "Migration", { ...shared, packaged: migration, cluster, database });
    const functions = operations.map(
      (packaged) =>
        new ServiceFunction(this, packaged.name, {
          ...shared,
          packaged,
          description: `For operators: ${packaged.stem}`,
          resources: [
            databaseRoleOf(packaged.name) === "master"
              ? ownResource(cluster, packaged)
              : databaseResource(cluster, packaged),
          ],
          timeout: longTimeout,
        }),
    );
    // Nobody is created in a database without tables.
    for (const each of functions) each.node.addDependency(deployment);
    const rotation = functions.find((_, index) => operations[index]?.name === "ops-rotate-password");
    if (!rotation) throw new Error("There is no function that rotates passwords");
    this.rotate([cluster.publicSecretArn, cluster.adminSecretArn], rotation.lambda);

    this.watch(prefix, settings, deployment, rotation, database);
  }

  /** Left to CloudFormation; the CDK would ask the account for their names, and synthesis needs none. */
  override get availabilityZones(): string[] {
    return [0, 1].map((index) => Fn.select(index, Fn.getAzs()));
  }

  private rotate(secretArns: readonly string[], { functionArn: rotationLambdaArn }: Lambda): void {
    const permission = new CfnPermission(this, "MayRotate", {
      action: "lambda:InvokeFunction",
      functionName: rotationLambdaArn,
      principal: "secretsmanager.amazonaws.com",
      sourceAccount: this.account,
    });
    for (const [index, secretId] of secretArns.entries()) {
      const schedule = new CfnRotationSchedule(this, `Rotation${index + 1}`, {
        secretId,
        rotationLambdaArn,
        rotationRules: { automaticallyAfterDays: rotationDays },
        // The password is as new as the secret.
        rotateImmediatelyOnUpdate: false,
      });
      schedule.addResourceDependency(permission);
    }
  }

  private watch(
    prefix: string,
    settings: DatabaseSettings,
    deployment: Migration,
    rotation: ServiceFunction,
    database: AuroraCluster,
  ): void {
    const alarms = new Alarms(this, "Alarms", { prefix: `${prefix}-database`, recipient: settings.alarmRecipient });
    alarms.add("migration-failed", {
      metric: deployment.serviceFunction.lambda.metricErrors({ period: Duration.minutes(1) }),
      impact:
        "A migration failed, so the deployment did; the service runs on as before. The stack's events name the file.",
      threshold: 1,
      periods: 1,
    });
    alarms.add("rotation-failed", {
      metric: rotation.lambda.metricErrors({ period: Duration.hours(1) }),
      impact:
        "A password was not changed. If website or administration cannot log in any more, ops-migrate sets the current one.",
      threshold: 1,
      periods: 1,
    });
    alarms.add("at-capacity", {
      metric: database.metricACUUtilization({ period: Duration.minutes(5) }),
      impact: `Everybody waits: the database has been at its limit of ${settings.capacityMax} ACU for a quarter of an hour. Raise capacityMax, or find the statement.`,
      threshold: 95,
      periods: 3,
    });
  }
}

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

type AuroraCluster = DatabaseCluster | DatabaseClusterFromSnapshot;

function makeCluster(stack: Stack, settings: DatabaseSettings): AuroraCluster {
  const { snapshot, isProtected, pausesAfterMinutes } = settings;
  const props = {
    engine: DatabaseClusterEngine.auroraPostgres({ version: postgresVersion }),
    // The pinned version stays what runs; AWS would only move on without telling the template.
    writer: ClusterInstance.serverlessV2("Writer", { autoMinorVersionUpgrade: false }),
    serverlessV2MinCapacity: settings.capacityMin,
    serverlessV2MaxCapacity: settings.capacityMax,
    ...(pausesAfterMinutes ? { serverlessV2AutoPauseDuration: Duration.minutes(pausesAfterMinutes) } : {}),
    vpc: makeNetwork(stack, settings) as IVpc,
    vpcSubnets: { subnetType: SubnetType.PRIVATE_ISOLATED },
    enableDataApi: true,
    // RDS keeps the secret and changes it every seven days; a function of ours would need a way out of the network.
    manageMasterUserPassword: true,
    storageEncrypted: true,
    backup: { retention: Duration.days(settings.backupDays) },
    copyTagsToSnapshot: true,
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
  if (isProtected) keepReplacedWriter(cluster);
  acknowledge(cluster, {
    "AwsSolutions-RDS6":
      "Nobody logs in to PostgreSQL over the network. The Data API asks IAM for every call (rds-data on this cluster) and takes the password from the secret that RDS rotates.",
    "AwsSolutions-RDS11":
      "No security group lets anybody in, and the subnets have no route out; another port would hide nothing.",
    ...(isProtected ? {} : { "AwsSolutions-RDS10": "This database holds demonstration data and goes with its stack." }),
  });
  return cluster;
}

/** Stages use the cluster that a restored one replaces until they are deployed; its protection is not its writer's. */
function keepReplacedWriter(cluster: AuroraCluster): void {
  const writer = cluster.node.findChild("Writer").node.defaultChild as CfnDBInstance;
  writer.cfnOptions.updateReplacePolicy = CfnDeletionPolicy.RETAIN;
}

function describe(stack: Stack, database: AuroraCluster): OwnCluster {
  const { clusterArn: arn, clusterIdentifier: identifier, secret } = database;
  if (!secret) throw new Error("The cluster has no secret");
  return {
    arn,
    identifier,
    masterSecretArn: secret.secretArn,
    publicSecretArn: makeSecret(stack, "PublicSecret", "colophon_public").secretArn,
    adminSecretArn: makeSecret(stack, "AdminSecret", "colophon_admin").secretArn,
  };
}

/** The password of a role, which every migration sets in the database: so it holds for a restored cluster, too. */
function makeSecret(stack: Stack, id: string, username: string): Secret {
  return new Secret(stack, id, {
    description: `Password of ${username} in PostgreSQL`,
    generateSecretString: {
      secretStringTemplate: JSON.stringify({ username }),
      generateStringKey: "password",
      passwordLength: 40,
      excludePunctuation: true,
    },
    removalPolicy: RemovalPolicy.DESTROY,
  });
}
