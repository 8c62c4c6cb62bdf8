import { Duration, type Stack } from "aws-cdk-lib";
import { Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { CfnPermission, type Function as Lambda } from "aws-cdk-lib/aws-lambda";
import { CfnQueryDefinition } from "aws-cdk-lib/aws-logs";
import { CfnEventSubscription } from "aws-cdk-lib/aws-rds";
import { CfnRotationSchedule } from "aws-cdk-lib/aws-secretsmanager";
import { Construct } from "constructs";
import type { Packaged } from "../build/package.ts";
import { connectionsWatched } from "../settings/connections.ts";
import type { DatabaseSettings } from "../settings/schema.ts";
import { transferBucketOf } from "../settings/transfer-bucket.ts";
import { addBackupCopies } from "./database/backups.ts";
import { makeCluster, postgresLogName } from "./database/cluster.ts";
import { type AuroraCluster, operatorsResource, publishCluster } from "./database/database.ts";
import { addMigration } from "./database/migration.ts";
import { addTrail } from "./database/operators-cloudtrail.ts";
import { makeTransfers } from "./database/transfers.ts";
import { notifyingEdge } from "./edge/edge-invalidation.ts";
import { Alarms, isAbsent } from "./shared/alarms.ts";
import { makeFunctionLog } from "./shared/log.ts";
import { functionNamed, longTimeout, makeFunction, wholeCpuInMegabytes } from "./shared/service-function.ts";

const slowStatements = `filter @message like /duration: |still waiting for |canceling statement/
| parse @message /duration: (?<milliseconds>[0-9.]+) ms/
| sort @timestamp desc
| limit 100
| display @timestamp, milliseconds, @message`;

const rotationDays = 30;
/** With $0.63 a gigabyte these are $45 a month. */
const logMegabytesAnHour = 100;

export interface DatabaseProps {
  /** Operators' functions of this database, and the one by which CloudFormation runs the migrations. */
  readonly packages: readonly Packaged[];
  /** The stage with an edge, which is told what operators change; there is at most one on a database. */
  readonly edgeStage: string | undefined;
}

/**
 * The cluster, its migrations and its operators' functions. API stacks find the cluster by parameters (database.ts).
 */
export function addDatabase(stack: Stack, settings: DatabaseSettings, { packages, edgeStage }: DatabaseProps): void {
  const { name, isProtected, mayBeEmpty, logRetentionDays, trailRetentionDays, backupRegion } = settings;
  const prefix = `colophon-${name}`;
  const database = makeCluster(stack, settings);
  const cluster = publishCluster(stack, name, database);

  const common = { prefix, log: makeFunctionLog(stack, `${name}-database`, settings), timeout: longTimeout };
  const migration = new Construct(stack, "Migration");
  const migrates = functionNamed(packages, "ops-migrate-on-deploy");
  const migrator = addMigration(migration, { ...common, packaged: migrates, cluster, mayBeEmpty, database });
  const transferBucket = transferBucketOf(settings, { id: stack.account, region: stack.region });
  const transfers = makeTransfers(stack, transferBucket, { logRetentionDays, isProtected });
  const operate = (packaged: Packaged) => {
    const scope = new Construct(stack, packaged.name);
    // The functions need the tables that the migrations create.
    scope.node.addDependency(migration);
    return makeFunction(scope, {
      ...common,
      packaged,
      description: `For operators: ${packaged.endpointPath}`,
      resources: [
        operatorsResource(stack, name, cluster, packaged),
        transfers[packaged.name] ?? {},
        ...(edgeStage ? [notifyingEdge(stack, `colophon-${edgeStage}`)] : []),
      ],
      // To read lines; and a dry run remembers what they add, some 500 bytes each.
      ...(packaged.name === "ops-import" ? { memorySize: wholeCpuInMegabytes } : {}),
    });
  };
  const operated = packages.filter((each) => each !== migrates);
  const lambdas = new Map(operated.map((each) => [each.name, operate(each)]));
  const rotator = lambdas.get("ops-rotate-password");
  if (!rotator) throw new Error("There is no function that rotates passwords");
  scheduleRotation(stack, Object.values(cluster.secretArns), rotator.functionArn);

  if (trailRetentionDays !== undefined) addTrail(stack, settings, [...lambdas.values()], trailRetentionDays);
  const alarms = addAlarms(stack, settings, database, { migrator, rotator });
  if (backupRegion) addBackupCopies(stack, settings, backupRegion, database, alarms);
}

function scheduleRotation(stack: Stack, secretArns: readonly string[], rotationLambdaArn: string): void {
  const permission = new CfnPermission(stack, "MayRotate", {
    action: "lambda:InvokeFunction",
    functionName: rotationLambdaArn,
    principal: "secretsmanager.amazonaws.com",
    sourceAccount: stack.account,
  });
  for (const [index, secretId] of secretArns.entries()) {
    const schedule = new CfnRotationSchedule(stack, `Rotation${index + 1}`, {
      secretId,
      rotationLambdaArn,
      rotationRules: { automaticallyAfterDays: rotationDays },
      // A new secret already has a new password.
      rotateImmediatelyOnUpdate: false,
    });
    schedule.addResourceDependency(permission);
  }
}

/** The alarms of the database, and the mails about its cluster. */
function addAlarms(
  stack: Stack,
  settings: DatabaseSettings,
  database: AuroraCluster,
  { migrator, rotator }: Readonly<Record<"migrator" | "rotator", Lambda>>,
): Alarms {
  const prefix = `colophon-${settings.name}-database`;
  const alarms = new Alarms(stack, "Alarms", { prefix, recipients: settings.alarmRecipient });
  alarms.add("migration-failed", {
    metric: migrator.metricErrors({ period: Duration.minutes(1) }),
    impact:
      "A migration failed, so the deployment did; the service runs on as before. The stack's events name the file.",
  });
  alarms.add("rotation-failed", {
    metric: rotator.metricErrors({ period: Duration.hours(1) }),
    impact:
      "A rotation of a password failed. Functions go on with their open connections, and Secrets Manager tries again. If new connections are refused, invoke ops-migrate with setPasswords. See the log of ops-rotate-password.",
  });
  alarms.add("at-capacity", {
    metric: database.metricACUUtilization(),
    impact: `All requests wait for the database, which has been at its limit of ${settings.capacityMax} ACU for a quarter of an hour. Raise capacityMax, or find the statement.`,
    threshold: 95,
    evaluationPeriods: 3,
  });
  alarms.add("log-volume", {
    metric: new Metric({
      namespace: "AWS/Logs",
      metricName: "IncomingBytes",
      dimensionsMap: { LogGroupName: postgresLogName(settings) },
      statistic: Stats.SUM,
      period: Duration.hours(1),
    }),
    impact: `PostgreSQL logged ${logMegabytesAnHour} MB or more within an hour, some ten times what is usual, for which this account pays. The saved query \`slow-statements\` shows which statements are slow or wait.`,
    threshold: logMegabytesAnHour * 1_000_000,
  });
  alarms.add("connections", {
    metric: database.metricDatabaseConnections({ statistic: Stats.MAXIMUM }),
    impact:
      "Half of PostgreSQL's connections are open. The Data API opens one for each statement that runs; a login that has all of its share gets 503. Look for statements that wait for a lock.",
    threshold: connectionsWatched(settings),
  });
  if (settings.standby) {
    alarms.add("standby-missing", {
      // Whatever it measures: there are no data about readers where there are none.
      metric: database.metricCPUUtilization({
        dimensionsMap: { DBClusterIdentifier: database.clusterIdentifier, Role: "READER" },
        statistic: Stats.SAMPLE_COUNT,
      }),
      ...isAbsent,
      impact:
        "For a quarter of an hour the database has had no standby: should its instance fail now, all requests wait some ten minutes instead of half a minute. RDS's events tell why.",
      evaluationPeriods: 3,
    });
  }
  // An event subscription instead of an alarm: a failover ends within one period of an alarm's metric.
  alarms.letPublish("events.rds.amazonaws.com");
  for (const [index, snsTopicArn] of alarms.topicArns.entries())
    new CfnEventSubscription(stack, `Events${index || ""}`, {
      snsTopicArn,
      sourceType: "db-cluster",
      sourceIds: [database.clusterIdentifier],
      eventCategories: ["failover", "failure", "maintenance"],
    });
  new CfnQueryDefinition(stack, "SlowStatements", {
    name: `${prefix}/slow-statements`,
    queryString: slowStatements,
    logGroupNames: [postgresLogName(settings)],
  });
  return alarms;
}
