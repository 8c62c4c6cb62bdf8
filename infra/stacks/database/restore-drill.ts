import { ArnFormat, Duration, Stack } from "aws-cdk-lib";
import { CfnRestoreTestingPlan, CfnRestoreTestingSelection, type IBackupVault } from "aws-cdk-lib/aws-backup";
import { MathExpression } from "aws-cdk-lib/aws-cloudwatch";
import { Rule, Schedule } from "aws-cdk-lib/aws-events";
import { SfnStateMachine } from "aws-cdk-lib/aws-events-targets";
import { ManagedPolicy, PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import type { CfnDBSubnetGroup } from "aws-cdk-lib/aws-rds";
import { DefinitionBody, StateMachine } from "aws-cdk-lib/aws-stepfunctions";
import { Construct } from "constructs";
import type { Packaged } from "../../build/package.ts";
import type { DatabaseSettings } from "../../settings/schema.ts";
import { acknowledge, wildcardFinding } from "../shared/acknowledge.ts";
import type { Alarms } from "../shared/alarms.ts";
import { longTimeout, ServiceFunction } from "../shared/service-function.ts";
import type { AuroraCluster } from "./cluster.ts";
import { databaseName, type OwnCluster } from "./database.ts";
import { drillStates } from "./drill-states.ts";

export interface RestoreDrillProps {
  readonly settings: DatabaseSettings;
  readonly drill: NonNullable<DatabaseSettings["drill"]>;
  readonly knownContributor: string;
  readonly prefix: string;
  readonly vault: IBackupVault;
  readonly database: AuroraCluster;
  readonly cluster: OwnCluster;
  readonly packaged: Packaged;
  readonly log: LogGroup;
  readonly alarms: Alarms;
}

/** The backup of the night is made at 2 o'clock, and has all that was written more than so many hours ago. */
const changesHours = 26;
const capacityMax = 2;
/** How long AWS Backup keeps what it has restored, if it gets no result. */
const validationWindowHours = 6;

/**
 * Each month AWS Backup restores the night's backup beside the live cluster (restore testing); a state machine adds an
 * instance, has the copy checked, removes the instance and reports, whereupon AWS Backup removes the cluster.
 */
export class RestoreDrill extends Construct {
  constructor(scope: Construct, id: string, props: RestoreDrillProps) {
    super(scope, id);
    const { settings, drill, alarms, prefix } = props;
    const schedule = Schedule.cron({ minute: "0", hour: `${drill.hour}`, day: `${drill.day}` });
    const plan = this.makePlan(props, schedule.expressionString);
    const check = this.makeCheck(props);
    const instance = `${prefix}-drill`;
    const machine = new StateMachine(this, "Machine", {
      stateMachineName: `${prefix}-restore-drill`,
      role: this.makeRole(props, check, instance),
      definitionBody: DefinitionBody.fromString(
        Stack.of(this).toJsonString(
          drillStates({
            plan: plan.attrRestoreTestingPlanArn,
            instance,
            capacityMax: Math.min(capacityMax, settings.capacityMax),
            checkFunction: check.lambda.functionName,
            checks: { knownContributor: props.knownContributor, hours: changesHours },
            topic: alarms.topic.topicArn,
          }),
        ),
      ),
    });
    acknowledge(machine, {
      "AwsSolutions-SF1": "Step Functions keeps the history of an execution, which runs once a month, for ninety days.",
      "AwsSolutions-SF2": "Its steps wait for minutes, and nobody waits for it.",
    });
    new Rule(this, "Schedule", {
      schedule,
      description: "Tries to restore the night's backup",
      targets: [new SfnStateMachine(machine)],
    });
    alarms.add("drill-failed", {
      metric: new MathExpression({
        expression: "failed + late + aborted",
        usingMetrics: {
          failed: machine.metricFailed(),
          late: machine.metricTimedOut(),
          aborted: machine.metricAborted(),
        },
        period: Duration.hours(1),
      }),
      impact: `The monthly drill did not restore the night's backup, or found something wrong with it: do not rely on backups until you know why. The last execution of ${prefix}-restore-drill says it.`,
      threshold: 1,
      evaluationPeriods: 1,
    });
  }

  private makePlan({ prefix, vault, database }: RestoreDrillProps, scheduleExpression: string): CfnRestoreTestingPlan {
    const plan = new CfnRestoreTestingPlan(this, "Plan", {
      // Letters, digits and underscores are all that is allowed here.
      restoreTestingPlanName: `${prefix}-drill`.replaceAll("-", "_"),
      scheduleExpression,
      startWindowHours: 1,
      recoveryPointSelection: {
        algorithm: "LATEST_WITHIN_WINDOW",
        includeVaults: [vault.backupVaultArn],
        recoveryPointTypes: ["SNAPSHOT"],
        selectionWindowDays: 1,
      },
    });
    const role = new Role(this, "RestoreRole", {
      assumedBy: new ServicePrincipal("backup.amazonaws.com"),
      managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName("service-role/AWSBackupServiceRolePolicyForRestores")],
    });
    acknowledge(role, {
      "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSBackupServiceRolePolicyForRestores]":
        "The policy that AWS keeps for exactly this service role, and asks for in restore testing. Nobody but AWS Backup can assume it.",
    });
    const subnets = database.node.findChild("Subnets").node.defaultChild as CfnDBSubnetGroup;
    new CfnRestoreTestingSelection(this, "Selection", {
      restoreTestingPlanName: plan.restoreTestingPlanName,
      restoreTestingSelectionName: "cluster",
      protectedResourceType: "Aurora",
      protectedResourceArns: [database.clusterArn],
      iamRoleArn: role.roleArn,
      validationWindowHours,
      restoreMetadataOverrides: { dbSubnetGroupName: subnets.ref },
    }).addResourceDependency(plan);
    return plan;
  }

  /** It may read the live database, as visitors and operators do, and copies that AWS Backup restores for tests. */
  private makeCheck({ cluster, packaged, prefix, log }: RestoreDrillProps): ServiceFunction {
    const { public: catalogue, operator: ledger } = cluster.secretArns;
    const copies = this.arnOf("cluster", "awsbackup-restore-test*");
    const secrets = this.secretsOfRds();
    return new ServiceFunction(this, "Check", {
      prefix,
      packaged,
      description: "Compares a restored copy with the live database",
      timeout: longTimeout,
      log,
      resources: [
        {
          variables: {
            DATABASE_CLUSTER_ARN: cluster.arn,
            DATABASE_SECRET_ARN: ledger,
            DATABASE_PUBLIC_SECRET_ARN: catalogue,
            DATABASE_NAME: databaseName,
            // A record has the URL of its image, which the check ignores.
            IMAGE_BASE_URL: "https://images.invalid",
          },
          policies: {
            CompareCopy: [
              new PolicyStatement({ actions: ["rds-data:ExecuteStatement"], resources: [cluster.arn, copies] }),
              new PolicyStatement({
                actions: ["secretsmanager:GetSecretValue"],
                resources: [ledger, catalogue],
              }),
              new PolicyStatement({
                actions: ["secretsmanager:GetSecretValue"],
                resources: [secrets],
                conditions: { StringLike: { "secretsmanager:ResourceTag/aws:rds:primaryDBClusterArn": copies } },
              }),
            ],
          },
          reasons: { [wildcardFinding(copies)]: copiesReason, [wildcardFinding(secrets)]: secretsReason },
        },
      ],
    });
  }

  private makeRole({ alarms }: RestoreDrillProps, check: ServiceFunction, instance: string): Role {
    const copies = this.arnOf("cluster", "awsbackup-restore-test*");
    const secrets = this.secretsOfRds();
    const keys = Stack.of(this).formatArn({ service: "kms", resource: "key", resourceName: "*" });
    const allow = (resources: string[], ...actions: string[]) => new PolicyStatement({ actions, resources });
    const role = new Role(this, "MachineRole", {
      assumedBy: new ServicePrincipal("states.amazonaws.com"),
      inlinePolicies: {
        Drill: new PolicyDocument({
          statements: [
            allow(["*"], "backup:ListRestoreJobs", "backup:PutRestoreValidationResult"),
            allow([copies], "rds:ModifyDBCluster", "rds:EnableHttpEndpoint", "rds:DescribeDBClusters"),
            allow([copies, this.arnOf("db", instance)], "rds:CreateDBInstance", "rds:DeleteDBInstance"),
            allow([this.arnOf("db", instance)], "rds:DescribeDBInstances"),
            // RDS makes the secret of the copy's master with the rights of who asks for it.
            allow([secrets], "secretsmanager:CreateSecret", "secretsmanager:TagResource"),
            allow([keys], "kms:DescribeKey"),
            allow([check.lambda.functionArn], "lambda:InvokeFunction"),
            allow([alarms.topic.topicArn], "sns:Publish"),
          ],
        }),
      },
    });
    acknowledge(role, {
      "AwsSolutions-IAM5[Resource::*]": "Jobs of AWS Backup have no ARN by which IAM could tell them apart.",
      [wildcardFinding(keys)]: "The key is AWS's own for secrets, whose id nobody knows before.",
      [wildcardFinding(copies)]: copiesReason,
      [wildcardFinding(secrets)]: secretsReason,
    });
    return role;
  }

  private readonly arnOf = (resource: string, resourceName: string) =>
    Stack.of(this).formatArn({ service: "rds", resource, resourceName, arnFormat: ArnFormat.COLON_RESOURCE_NAME });

  private readonly secretsOfRds = () =>
    Stack.of(this).formatArn({
      service: "secretsmanager",
      resource: "secret",
      resourceName: "rds!cluster-*",
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
}

const copiesReason = "AWS Backup chooses the names of what it restores for a test, after this prefix.";
const secretsReason = "RDS chooses the names of the secrets that it manages, after this prefix.";
