import { Duration, Fn, RemovalPolicy, Stack, type StackProps } from "aws-cdk-lib";
import { Stats } from "aws-cdk-lib/aws-cloudwatch";
import { CfnPermission, type Function as Lambda } from "aws-cdk-lib/aws-lambda";
import { CfnQueryDefinition } from "aws-cdk-lib/aws-logs";
import { CfnEventSubscription } from "aws-cdk-lib/aws-rds";
import { CfnRotationSchedule, Secret } from "aws-cdk-lib/aws-secretsmanager";
import type { Construct } from "constructs";
import { databaseRoleOf, forEachRole } from "../build/database-role.ts";
import type { Packaged } from "../build/package.ts";
import type { DatabaseSettings } from "../settings/schema.ts";
import { transferBucketOf } from "../settings/transfer-bucket.ts";
import { BackupCopies } from "./database/backup-copies.ts";
import { type AuroraCluster, makeCluster, postgresLogName } from "./database/cluster.ts";
import {
  comparisonResource,
  databaseResource,
  type OwnCluster,
  ownResource,
  publishCluster,
  secretId,
} from "./database/database.ts";
import { Migration } from "./database/migration.ts";
import { OperatorsTrail } from "./database/operators-cloudtrail.ts";
import { Transfers } from "./database/transfers.ts";
import { notifiesEdge, notifyingEdge } from "./edge/edge-invalidation.ts";
import { acknowledge } from "./shared/acknowledge.ts";
import { Alarms, isAbsent } from "./shared/alarms.ts";
import { makeFunctionLog } from "./shared/log.ts";
import { longTimeout, type Resource, ServiceFunction } from "./shared/service-function.ts";

const slowStatements = `filter @message like /duration: |still waiting for |canceling statement/
| parse @message /duration: (?<milliseconds>[0-9.]+) ms/
| sort @timestamp desc
| limit 100
| display @timestamp, milliseconds, @message`;

const rotationDays = 30;

/**
 * PostgreSQL's `max_connections`, which Aurora derives from the largest capacity, and bounds for one that can shrink to
 * half an ACU or pause (Aurora, "Maximum connections for Aurora Serverless v2").
 */
const connectionsMax = ({ capacityMin, capacityMax }: DatabaseSettings) =>
  Math.min(capacityMin <= 0.5 ? 2_000 : 5_000, Math.floor((capacityMax * 2 * 1024 ** 3) / 9_531_392));

/** A whole vCPU, to read lines; and a dry run remembers what they add, some 500 bytes each. */
const importMemoryInMegabytes = 1_769;

export interface DatabaseStackProps extends Pick<StackProps, "env" | "tags" | "synthesizer"> {
  readonly settings: DatabaseSettings;
  /** Operators' functions of this database, and the one by which CloudFormation runs the migrations. */
  readonly operatorFunctions: readonly Packaged[];
  /** The stage with an edge, which is told what operators change; there is at most one on a database. */
  readonly edgeStage: string | undefined;
}

/**
 * The cluster, its migrations and its operators' functions. API stacks find the cluster by parameters (database.ts).
 */
export class DatabaseStack extends Stack {
  readonly #zones: readonly string[] | undefined;

  constructor(
    scope: Construct,
    id: string,
    { settings, operatorFunctions: all, edgeStage, ...stackProps }: DatabaseStackProps,
  ) {
    super(scope, id, {
      ...stackProps,
      description: `Colophon: the database ${settings.name}`,
      terminationProtection: settings.isProtected,
    });
    this.#zones = settings.zones;
    acknowledge(this, {
      "CloudFormation-Validate::W3010":
        "A setting names the zones: to move a database, operators have to know which it is in.",
    });
    const prefix = `colophon-${settings.name}`;
    const database = makeCluster(this, settings);
    const cluster = makeSecrets(this, database);
    publishCluster(this, settings.name, cluster);

    const shared = { prefix, log: makeFunctionLog(this, `${settings.name}-database`, settings) };
    const migration = all.find(({ name }) => name === "ops-migrate-on-deploy");
    if (!migration) throw new Error("There is no function that migrates");
    const operatorFunctions = all.filter((each) => each !== migration);
    const { mayBeEmpty } = settings;
    const deployment = new Migration(this, "Migration", {
      ...shared,
      packaged: migration,
      cluster,
      mayBeEmpty,
      database,
    });
    const { account: accountId, region } = this;
    const transfers = new Transfers(this, "Transfers", {
      bucketName: transferBucketOf(settings, { id: accountId, region }),
      logRetentionDays: settings.logRetentionDays,
      isProtected: settings.isProtected,
    });
    const functions = operatorFunctions.map(
      (packaged) =>
        new ServiceFunction(this, packaged.name, {
          ...shared,
          packaged,
          description: `For operators: ${packaged.endpointPath}`,
          resources: [
            this.resourceFor(packaged, settings.name, cluster),
            ...[transfers.resourceFor(packaged.name) ?? []].flat(),
            ...(edgeStage && notifiesEdge(packaged) ? [notifyingEdge(this, `colophon-${edgeStage}`)] : []),
          ],
          timeout: longTimeout,
          ...(packaged.name === "ops-import" ? { memoryInMegabytes: importMemoryInMegabytes } : {}),
        }),
    );
    // The functions need the tables that the migrations create.
    for (const each of functions) each.node.addDependency(deployment);
    const rotation = functions.find((_, index) => operatorFunctions[index]?.name === "ops-rotate-password");
    if (!rotation) throw new Error("There is no function that rotates passwords");
    this.scheduleRotation(Object.values(cluster.secretArns), rotation.lambda);

    if (settings.trailRetentionDays !== undefined) {
      new OperatorsTrail(this, "Trail", {
        database: settings.name,
        functions: functions.map(({ lambda }) => lambda),
        retentionDays: settings.trailRetentionDays,
        logRetentionDays: settings.logRetentionDays,
        isProtected: settings.isProtected,
      });
    }
    const alarms = this.addAlarms(prefix, settings, deployment, rotation, database);
    const { backupRegion } = settings;
    if (backupRegion) new BackupCopies(this, "Copies", { settings, backupRegion, database, alarms });
  }

  private resourceFor(packaged: Packaged, database: string, cluster: OwnCluster): Resource {
    if (packaged.name === "ops-check-copy") return comparisonResource(this, database, cluster);
    return databaseRoleOf(packaged.name) === "master"
      ? ownResource(cluster, packaged)
      : databaseResource(cluster, packaged);
  }

  /** Without the setting CloudFormation chooses: to know the zones' names, the CDK would need credentials. */
  override get availabilityZones(): string[] {
    return this.#zones ? [...this.#zones] : [0, 1].map((index) => Fn.select(index, Fn.getAzs()));
  }

  private scheduleRotation(secretArns: readonly string[], { functionArn: rotationLambdaArn }: Lambda): void {
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
        // A new secret already has a new password.
        rotateImmediatelyOnUpdate: false,
      });
      schedule.addResourceDependency(permission);
    }
  }

  private addAlarms(
    prefix: string,
    settings: DatabaseSettings,
    deployment: Migration,
    rotation: ServiceFunction,
    database: AuroraCluster,
  ): Alarms {
    const alarms = new Alarms(this, "Alarms", { prefix: `${prefix}-database`, recipient: settings.alarmRecipient });
    alarms.add("migration-failed", {
      metric: deployment.serviceFunction.lambda.metricErrors({ period: Duration.minutes(1) }),
      impact:
        "A migration failed, so the deployment did; the service runs on as before. The stack's events name the file.",
    });
    alarms.add("rotation-failed", {
      metric: rotation.lambda.metricErrors({ period: Duration.hours(1) }),
      impact:
        "A rotation of a password failed. Functions go on with their open connections, and Secrets Manager tries again. If new connections are refused, invoke ops-migrate with setPasswords. See the log of ops-rotate-password.",
    });
    alarms.add("at-capacity", {
      metric: database.metricACUUtilization({ period: Duration.minutes(5) }),
      impact: `Everybody waits: the database has been at its limit of ${settings.capacityMax} ACU for a quarter of an hour. Raise capacityMax, or find the statement.`,
      threshold: 95,
      evaluationPeriods: 3,
    });
    alarms.add("connections", {
      metric: database.metricDatabaseConnections({ statistic: Stats.MAXIMUM, period: Duration.minutes(5) }),
      impact:
        "Requests are about to fail with 503, because PostgreSQL accepts no more connections: the Data API opens one for each statement that runs at once. Look for statements that wait for a lock.",
      threshold: Math.floor(0.8 * connectionsMax(settings)),
    });
    if (settings.standby) {
      alarms.add("standby-missing", {
        // Whatever it measures: there are no data about readers where there are none.
        metric: database.metricCPUUtilization({
          dimensionsMap: { DBClusterIdentifier: database.clusterIdentifier, Role: "READER" },
          statistic: Stats.SAMPLE_COUNT,
          period: Duration.minutes(5),
        }),
        ...isAbsent,
        impact:
          "For a quarter of an hour the database has had no standby: should its instance fail now, everybody waits some ten minutes instead of half a minute. RDS's events tell why.",
        evaluationPeriods: 3,
      });
    }
    // An event subscription instead of an alarm: a failover ends within one period of an alarm's metric.
    alarms.letPublish("events.rds.amazonaws.com");
    new CfnEventSubscription(this, "Events", {
      snsTopicArn: alarms.topic.topicArn,
      sourceType: "db-cluster",
      sourceIds: [database.clusterIdentifier],
      eventCategories: ["failover", "failure", "maintenance"],
    });
    new CfnQueryDefinition(this, "SlowStatements", {
      name: `${prefix}-database/slow-statements`,
      queryString: slowStatements,
      logGroupNames: [postgresLogName(settings)],
    });
    return alarms;
  }
}

function makeSecrets(stack: Stack, database: AuroraCluster): OwnCluster {
  const { clusterArn: arn, clusterIdentifier: identifier, secret } = database;
  if (!secret) throw new Error("The cluster has no secret");
  return {
    arn,
    identifier,
    masterSecretArn: secret.secretArn,
    secretArns: forEachRole((role) => makeRoleSecret(stack, secretId(role), `colophon_${role}`).secretArn),
  };
}

/**
 * The login of a role. A deployment sets its password where PostgreSQL has another, as on a restored cluster. When the
 * template of the text changes, CloudFormation makes a new password, which PostgreSQL does not know.
 */
const makeRoleSecret = (stack: Stack, id: string, username: string): Secret =>
  new Secret(stack, id, {
    description: `Password of ${username} in PostgreSQL`,
    generateSecretString: {
      secretStringTemplate: JSON.stringify({ username }),
      generateStringKey: "password",
      passwordLength: 40,
      excludePunctuation: true,
    },
    removalPolicy: RemovalPolicy.DESTROY,
  });
